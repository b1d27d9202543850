package spawn

import (
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi/jsonobject"
	"github.com/parley-wasm/parley/plugin/internal/transcript"
)

// Phases of the flow: the run or time that the flow waits for.
const (
	phaseChild    = "child"
	phaseAnnounce = "announce"
	phaseParent   = "parent"
	phaseCleanup  = "cleanup"
)

// state is the state that a step passes to the next one.
type state struct {
	phase     string
	run       string // id of the run that the flow waits for; empty: none
	requester string // canonical key; empty: the operator
	child     string // canonical key
	work      string // id of the child's own run
	announce  string // destination of the report, a value of the argument announce
	deletes   bool   // delete the child after its announce
	task      string // the task in the announce request, truncated to maxTask
	outcome   string // outcome of the report, for people
	removeAt  int64  // when to archive or delete the child, in milliseconds; 0: never, or done
}

// maxTask bounds the task in the state, in bytes of JSON.
const maxTask = 16 << 10

// maxOutcome bounds the outcome of the report, in bytes.
const maxOutcome = 500

var stateMembers = jsonobject.New(
	jsonobject.Required("phase", jsonobject.Name, func(s *state) any { return &s.phase }),
	jsonobject.Optional("run", jsonobject.Text, func(s *state) any { return &s.run }),
	jsonobject.Optional("requester", jsonobject.Text, func(s *state) any { return &s.requester }),
	jsonobject.Required("child", jsonobject.Name, func(s *state) any { return &s.child }),
	jsonobject.Required("work", jsonobject.Name, func(s *state) any { return &s.work }),
	jsonobject.Required("announce", jsonobject.Name, func(s *state) any { return &s.announce }),
	jsonobject.Optional("deletes", jsonobject.True, func(s *state) any { return &s.deletes }),
	jsonobject.Optional("task", jsonobject.Text, func(s *state) any { return &s.task }),
	jsonobject.Optional("told", jsonobject.Text, func(s *state) any { return &s.outcome }),
	jsonobject.Optional("tidyAt", jsonobject.Whole, func(s *state) any { return &s.removeAt }),
)

func (s *state) appendJSON(b []byte) []byte {
	transcript.FitTexts(maxTask, &s.task)
	s.outcome = transcript.TruncateText(s.outcome, maxOutcome)
	return stateMembers.Append(b, s)
}

// parse reads a state and reports whether it is valid.
func (s *state) parse(doc string) bool {
	bad := stateMembers.Read(gjson.Parse(doc), s, jsonobject.Strict)
	if bad != nil || s.removeAt < 0 {
		return false
	}
	switch s.announce {
	case toChannel, toParent, toNone:
	default:
		return false
	}
	switch s.phase {
	case phaseChild, phaseAnnounce, phaseParent:
		return s.run != ""
	case phaseCleanup:
		return s.run == "" && s.removeAt > 0
	}
	return false
}
