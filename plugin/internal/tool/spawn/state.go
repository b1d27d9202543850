package spawn

import (
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/plugin/internal/transcript"
)

// Phases: what the flow waits for.
const (
	phaseChild    = "child"
	phaseAnnounce = "announce"
	phaseParent   = "parent"
	phaseCleanup  = "cleanup"
)

// state is what a step leaves to the next one.
type state struct {
	phase     string
	run       string // id of the run that is waited for; empty: none
	requester string // canonical key; empty: the operator
	child     string // canonical key
	work      string // id of the child's own run
	announce  string // where the report goes
	deletes   bool   // the child, after its announce
	task      string // for the announce; what is too long has lost its end
	told      string // how the report went, for people
	tidyAt    int64  // when the child is archived or deleted, in milliseconds; 0: not, or it is done
}

// maxTask is what the task may take of a state as JSON.
const maxTask = 16 << 10

// maxTold bounds how the report went, in bytes.
const maxTold = 500

func (s *state) appendJSON(b []byte) []byte {
	transcript.FitTexts(maxTask, &s.task)
	o := jsonappend.Open(b)
	o.String("phase", s.phase)
	o.OptString("run", s.run)
	o.OptString("requester", s.requester)
	o.String("child", s.child)
	o.String("work", s.work)
	o.String("announce", s.announce)
	o.OptBool("deletes", s.deletes)
	o.OptString("task", s.task)
	o.OptString("told", transcript.CutText(s.told, maxTold))
	o.OptInt("tidyAt", s.tidyAt)
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
		case "child":
			s.child = v.Str
		case "work":
			s.work = v.Str
		case "announce":
			s.announce = v.Str
		case "deletes":
			s.deletes, want = true, gjson.True
		case "task":
			s.task = v.Str
		case "told":
			s.told = v.Str
		case "tidyAt":
			s.tidyAt, want = v.Int(), gjson.Number
		default:
			ok = false
		}
		ok = ok && v.Type == want
		return ok
	})
	if !ok || s.child == "" || s.work == "" || s.tidyAt < 0 {
		return false
	}
	switch s.announce {
	case toChannel, toParent, toNobody:
	default:
		return false
	}
	switch s.phase {
	case phaseChild, phaseAnnounce, phaseParent:
		return s.run != ""
	case phaseCleanup:
		return s.run == "" && s.tidyAt > 0
	}
	return false
}
