package abi

import (
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi/jsonobject"
)

// CallInput is the input of the export "call": the first step of a tool call.
// Times are milliseconds since the Unix epoch.
type CallInput struct {
	FlowID     string
	Step       int
	CallID     string
	Now        int64
	AcceptedAt int64
	Tool       string
	Args       []byte // JSON from the caller, checked by the host; empty means {}
	Caller     Caller
	Config     []byte // JSON object with the settings that the tool needs
}

var callMembers = jsonobject.New(
	jsonobject.Required("abi", anything, func(*CallInput) any { return version{} }),
	jsonobject.Always("flowId", text, func(c *CallInput) any { return &c.FlowID }),
	jsonobject.Always("step", whole, func(c *CallInput) any { return &c.Step }),
	jsonobject.Always("callId", text, func(c *CallInput) any { return &c.CallID }),
	jsonobject.Always("now", whole, func(c *CallInput) any { return &c.Now }),
	jsonobject.Always("acceptedAt", whole, func(c *CallInput) any { return &c.AcceptedAt }),
	jsonobject.Always("tool", text, func(c *CallInput) any { return &c.Tool }),
	jsonobject.Always("args", anything, func(c *CallInput) any { return rawObject{&c.Args} }),
	jsonobject.Always("caller", anything, func(c *CallInput) any { return &c.Caller }),
	jsonobject.Always("config", anything, func(c *CallInput) any { return rawObject{&c.Config} }),
)

// ReadJSON reads the JSON that AppendJSON writes. Args and Config are slices of the
// document.
func (c *CallInput) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return callMembers.Read(v, c, mode)
}

// AppendJSON appends the input's JSON.
func (c *CallInput) AppendJSON(b []byte) []byte { return callMembers.Append(b, c) }

// ResumeInput is the input of the export "resume": a later step of a flow that was
// waiting.
type ResumeInput struct {
	FlowID       string
	Step         int
	Now          int64
	AcceptedAt   int64
	State        []byte // JSON returned by the previous step
	StateVersion int
	Event        *Event
	Caller       Caller
	Config       []byte
}

var resumeMembers = jsonobject.New(
	jsonobject.Required("abi", anything, func(*ResumeInput) any { return version{} }),
	jsonobject.Always("flowId", text, func(r *ResumeInput) any { return &r.FlowID }),
	jsonobject.Always("step", whole, func(r *ResumeInput) any { return &r.Step }),
	jsonobject.Always("now", whole, func(r *ResumeInput) any { return &r.Now }),
	jsonobject.Always("acceptedAt", whole, func(r *ResumeInput) any { return &r.AcceptedAt }),
	jsonobject.Always("state", anything, func(r *ResumeInput) any { return &r.State }),
	jsonobject.Always("stateVersion", whole, func(r *ResumeInput) any { return &r.StateVersion }),
	jsonobject.Always("event", anything, func(r *ResumeInput) any { return jsonobject.Maybe(&r.Event) }),
	jsonobject.Always("caller", anything, func(r *ResumeInput) any { return &r.Caller }),
	jsonobject.Always("config", anything, func(r *ResumeInput) any { return rawObject{&r.Config} }),
)

// ReadJSON reads the JSON that AppendJSON writes. State and Config are slices of the
// document.
func (r *ResumeInput) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return resumeMembers.Read(v, r, mode)
}

// AppendJSON appends the input's JSON.
func (r *ResumeInput) AppendJSON(b []byte) []byte { return resumeMembers.Append(b, r) }

// Types of events.
const (
	EventRun    = "run"    // the awaited run has ended
	EventTime   = "time"   // the awaited time has come
	EventCancel = "cancel" // the flow must end
)

// Event is the reason why a flow resumes.
type Event struct {
	Type string
	At   int64
	Run  *Run // ended run; nil unless Type is EventRun
}

var eventMembers = jsonobject.New(
	jsonobject.Required("type", text, func(e *Event) any { return &e.Type }),
	jsonobject.Required("at", whole, func(e *Event) any { return &e.At }),
	jsonobject.Optional("run", object, func(e *Event) any { return jsonobject.Maybe(&e.Run) }),
)

// ReadJSON reads the JSON that AppendJSON writes.
func (e *Event) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return eventMembers.Read(v, e, mode)
}

// AppendJSON appends the event's JSON.
func (e *Event) AppendJSON(b []byte) []byte { return eventMembers.Append(b, e) }
