package spawn

import (
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi/jsonobject"
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

var stateMembers = jsonobject.New(
	jsonobject.Required("phase", jsonobject.Name, func(s *state) any { return &s.phase }),
	jsonobject.Optional("run", jsonobject.Text, func(s *state) any { return &s.run }),
	jsonobject.Optional("requester", jsonobject.Text, func(s *state) any { return &s.requester }),
	jsonobject.Required("child", jsonobject.Name, func(s *state) any { return &s.child }),
	jsonobject.Required("work", jsonobject.Name, func(s *state) any { return &s.work }),
	jsonobject.Required("announce", jsonobject.Name, func(s *state) any { return &s.announce }),
	jsonobject.Optional("deletes", jsonobject.True, func(s *state) any { return &s.deletes }),
	jsonobject.Optional("task", jsonobject.Text, func(s *state) any { return &s.task }),
	jsonobject.Optional("told", jsonobject.Text, func(s *state) any { return &s.told }),
	jsonobject.Optional("tidyAt", jsonobject.Whole, func(s *state) any { return &s.tidyAt }),
)

func (s *state) appendJSON(b []byte) []byte {
	transcript.FitTexts(maxTask, &s.task)
	s.told = transcript.CutText(s.told, maxTold)
	return stateMembers.Append(b, s)
}

// parse reads a state and reports whether it is one.
func (s *state) parse(doc string) bool {
	bad := stateMembers.Read(gjson.Parse(doc), s, jsonobject.Strict)
	if bad != nil || s.tidyAt < 0 {
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
