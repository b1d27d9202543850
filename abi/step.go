package abi

import (
	"math"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi/jsonobject"
)

// StepResult is the output of a step that did not fail. Result answers the caller, once
// in a flow. Without Wait the flow ends.
type StepResult struct {
	Result []byte // JSON object; empty: no answer in this step
	Code   Code   // set if Result is a tool's failure (S0.1)
	Wait   *Wait
	Note   string // status of the flow, for people; kept until the next note
}

var stepMembers = jsonobject.New(
	jsonobject.Optional("result", object, func(r *StepResult) any { return &r.Result }),
	jsonobject.Optional("code", text, func(r *StepResult) any { return (*string)(&r.Code) }),
	jsonobject.Optional("wait", object, func(r *StepResult) any { return jsonobject.Maybe(&r.Wait) }),
	jsonobject.Optional("note", text, func(r *StepResult) any { return &r.Note }),
)

// ReadJSON reads the JSON that AppendJSON writes. Result is a slice of the document.
func (r *StepResult) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return stepMembers.Read(v, r, mode)
}

// AppendJSON appends the step result's JSON.
func (r *StepResult) AppendJSON(b []byte) []byte { return stepMembers.Append(b, r) }

// AppendResult appends a step result that answers the caller. code is empty
// unless the tool failed (S0.1).
func AppendResult(b, result []byte, code Code) []byte {
	return (&StepResult{Result: result, Code: code}).AppendJSON(b)
}

// Wait is the condition on which a flow resumes: the end of a run, a point in time, or
// whichever comes first. The host passes State to the next step.
type Wait struct {
	Run          string // id of a run; empty: none
	Until        int64  // milliseconds; 0: none
	State        []byte // JSON, at most MaxState bytes
	StateVersion int
}

var waitMembers = jsonobject.New(
	jsonobject.Optional("run", name, func(w *Wait) any { return &w.Run }),
	jsonobject.Optional("until", between(1, MaxSafeInteger), func(w *Wait) any { return &w.Until }),
	jsonobject.Required("state", anything, func(w *Wait) any { return &w.State }),
	jsonobject.Required("stateVersion", between(1, math.MaxInt32), func(w *Wait) any { return &w.StateVersion }),
)

// ReadJSON reads the JSON that AppendJSON writes. State is a slice of the document.
func (w *Wait) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return waitMembers.Read(v, w, mode)
}

// AppendJSON appends the wait's JSON.
func (w *Wait) AppendJSON(b []byte) []byte { return waitMembers.Append(b, w) }
