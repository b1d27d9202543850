package send

import (
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/plugin/internal/transcript"
)

// Phases: which run the flow waits for.
const (
	phaseFirst    = "first"
	phaseTurn     = "turn"
	phaseAnnounce = "announce"
)

// state is what a step leaves to the next one.
type state struct {
	phase     string
	run       string // id of the run that is waited for
	requester string // canonical key; empty: the operator
	target    string // canonical key
	answered  bool   // the caller has its answer
	quiet     bool   // announce: "none"

	turn    int    // turns taken
	stopped string // why there are no more, for people

	// What the announce is told. Texts too long to be kept have lost their end.
	request    string
	reply      string // to the request; empty: none
	latest     string // the newest answer of the loop; empty: none
	latestTurn int    // that brought it
}

// maxTexts is what the texts may take of a state as JSON. The rest of it is for
// keys, ids and names.
const maxTexts = abi.MaxState - 8<<10

// maxStopped bounds the reason for which the loop stopped, in bytes.
const maxStopped = 200

// shorten brings the texts to the size in which they are kept.
func (s *state) shorten() { transcript.FitTexts(maxTexts, &s.request, &s.reply, &s.latest) }

func (s *state) appendJSON(b []byte) []byte {
	s.shorten()
	o := jsonappend.Open(b)
	o.String("phase", s.phase)
	o.String("run", s.run)
	o.OptString("requester", s.requester)
	o.String("target", s.target)
	o.OptBool("answered", s.answered)
	o.OptBool("quiet", s.quiet)
	o.OptInt("turn", int64(s.turn))
	o.OptString("stopped", transcript.CutText(s.stopped, maxStopped))
	o.OptString("request", s.request)
	o.OptString("reply", s.reply)
	o.OptString("latest", s.latest)
	o.OptInt("latestTurn", int64(s.latestTurn))
	return o.Close()
}

// parse reads a state and reports whether it is one.
func (s *state) parse(doc string) bool {
	v := gjson.Parse(doc)
	if !v.IsObject() {
		return false
	}
	ok := true
	v.ForEach(func(name, v gjson.Result) bool {
		want := gjson.String
		switch name.Str {
		case "phase":
			s.phase = v.Str
		case "run":
			s.run = v.Str
		case "requester":
			s.requester = v.Str
		case "target":
			s.target = v.Str
		case "answered":
			s.answered, want = true, gjson.True
		case "quiet":
			s.quiet, want = true, gjson.True
		case "turn":
			s.turn, want = int(v.Int()), gjson.Number
		case "stopped":
			s.stopped = v.Str
		case "request":
			s.request = v.Str
		case "reply":
			s.reply = v.Str
		case "latest":
			s.latest = v.Str
		case "latestTurn":
			s.latestTurn, want = int(v.Int()), gjson.Number
		default:
			ok = false
		}
		ok = ok && v.Type == want
		return ok
	})
	if !ok || s.run == "" || s.target == "" || s.turn < 0 || s.latestTurn < 0 || s.latestTurn > s.turn {
		return false
	}
	switch s.phase {
	case phaseFirst:
		return s.turn == 0
	case phaseTurn:
		return s.turn > 0
	case phaseAnnounce:
		return true
	}
	return false
}
