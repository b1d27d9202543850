package send

import (
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonobject"
	"github.com/parley-wasm/parley/plugin/internal/transcript"
)

// Phases of the flow: the run that the flow waits for.
const (
	phaseFirst    = "first"
	phaseTurn     = "turn"
	phaseAnnounce = "announce"
)

// state is the state that a step passes to the next one.
type state struct {
	phase     string
	run       string // id of the run that the flow waits for
	requester string // canonical key; empty: the operator
	target    string // canonical key
	answered  bool   // the caller has been answered
	quiet     bool   // announce: "none"

	turn    int    // number of turns started
	stopped string // why the loop ended, for people

	// Texts for the announce, truncated to maxTexts together.
	request    string
	reply      string // to the request; empty: none
	latest     string // the newest answer of the loop; empty: none
	latestTurn int    // the turn of latest
}

// maxTexts bounds the texts for the announce in the state, in bytes of JSON. The rest of
// the state is reserved for keys, ids and names.
const maxTexts = abi.MaxState - 8<<10

// maxStopped bounds the reason why the loop ended, in bytes.
const maxStopped = 200

// fitTexts truncates the texts to the size in which the state stores them.
func (s *state) fitTexts() { transcript.FitTexts(maxTexts, &s.request, &s.reply, &s.latest) }

var stateMembers = jsonobject.New(
	jsonobject.Required("phase", jsonobject.Name, func(s *state) any { return &s.phase }),
	jsonobject.Required("run", jsonobject.Name, func(s *state) any { return &s.run }),
	jsonobject.Optional("requester", jsonobject.Text, func(s *state) any { return &s.requester }),
	jsonobject.Required("target", jsonobject.Name, func(s *state) any { return &s.target }),
	jsonobject.Optional("answered", jsonobject.True, func(s *state) any { return &s.answered }),
	jsonobject.Optional("quiet", jsonobject.True, func(s *state) any { return &s.quiet }),
	jsonobject.Optional("turn", jsonobject.Whole, func(s *state) any { return &s.turn }),
	jsonobject.Optional("stopped", jsonobject.Text, func(s *state) any { return &s.stopped }),
	jsonobject.Optional("request", jsonobject.Text, func(s *state) any { return &s.request }),
	jsonobject.Optional("reply", jsonobject.Text, func(s *state) any { return &s.reply }),
	jsonobject.Optional("latest", jsonobject.Text, func(s *state) any { return &s.latest }),
	jsonobject.Optional("latestTurn", jsonobject.Whole, func(s *state) any { return &s.latestTurn }),
)

func (s *state) appendJSON(b []byte) []byte {
	s.fitTexts()
	s.stopped = transcript.TruncateText(s.stopped, maxStopped)
	return stateMembers.Append(b, s)
}

// parse reads a state and reports whether it is valid.
func (s *state) parse(doc string) bool {
	bad := stateMembers.Read(gjson.Parse(doc), s, jsonobject.Strict)
	if bad != nil || s.turn < 0 || s.latestTurn < 0 || s.latestTurn > s.turn {
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
