package abi

import "github.com/parley-wasm/parley/abi/jsonappend"

// Caller is who asks: a session with its agent, or the operator (S0.3). The
// host sets it from the connection's credentials or the run's token, never from
// tool arguments.
type Caller struct {
	SessionKey string `json:"sessionKey,omitempty"` // canonical; empty for the operator
	AgentID    string `json:"agentId,omitempty"`
	Channel    string `json:"channel,omitempty"`
	To         string `json:"to,omitempty"`
	AccountID  string `json:"accountId,omitempty"`
	ThreadID   string `json:"threadId,omitempty"`
	Sandboxed  bool   `json:"sandboxed"`
	Depth      int    `json:"depth"`           // 0, or 1 for a spawned child
	Hops       int    `json:"hops"`            // how many flows in a row led here (S5.6)
	RunID      string `json:"runId,omitempty"` // the run that calls, if one does
	Operator   bool   `json:"operator,omitempty"`
	Attempt    int    `json:"-"` // which attempt at that run; the host's own, and not sent
}

// AppendJSON appends the caller's JSON.
func (c *Caller) AppendJSON(b []byte) []byte {
	o := jsonappend.Open(b)
	o.OptString("sessionKey", c.SessionKey)
	o.OptString("agentId", c.AgentID)
	o.OptString("channel", c.Channel)
	o.OptString("to", c.To)
	o.OptString("accountId", c.AccountID)
	o.OptString("threadId", c.ThreadID)
	o.Bool("sandboxed", c.Sandboxed)
	o.Int("depth", int64(c.Depth))
	o.Int("hops", int64(c.Hops))
	o.OptString("runId", c.RunID)
	o.OptBool("operator", c.Operator)
	return o.Close()
}

// CallInput is the input of the export "call": the first step of a tool call.
// Times are milliseconds since the Unix epoch.
type CallInput struct {
	FlowID     string
	Step       int
	CallID     string
	Now        int64
	AcceptedAt int64
	Tool       string
	Args       []byte // JSON as the caller sent it, checked; empty means {}
	Caller     Caller
	Config     []byte // JSON object with the members that the tool needs
}

// AppendJSON appends the input's JSON.
func (c *CallInput) AppendJSON(b []byte) []byte {
	o := jsonappend.Open(b)
	o.Int("abi", Version)
	o.String("flowId", c.FlowID)
	o.Int("step", int64(c.Step))
	o.String("callId", c.CallID)
	o.Int("now", c.Now)
	o.Int("acceptedAt", c.AcceptedAt)
	o.String("tool", c.Tool)
	o.Raw("args", orEmptyObject(c.Args))
	o.Value(c.Caller.AppendJSON(o.Key("caller")))
	o.Raw("config", orEmptyObject(c.Config))
	return o.Close()
}

// ResumeInput is the input of the export "resume": a further step of a flow
// that was waiting.
type ResumeInput struct {
	FlowID       string
	Step         int
	Now          int64
	AcceptedAt   int64
	State        []byte // JSON, as the step before returned it
	StateVersion int
	Event        []byte // JSON
	Caller       Caller
	Config       []byte
}

// AppendJSON appends the input's JSON.
func (r *ResumeInput) AppendJSON(b []byte) []byte {
	o := jsonappend.Open(b)
	o.Int("abi", Version)
	o.String("flowId", r.FlowID)
	o.Int("step", int64(r.Step))
	o.Int("now", r.Now)
	o.Int("acceptedAt", r.AcceptedAt)
	o.Raw("state", orNull(r.State))
	o.Int("stateVersion", int64(r.StateVersion))
	o.Raw("event", orNull(r.Event))
	o.Value(r.Caller.AppendJSON(o.Key("caller")))
	o.Raw("config", orEmptyObject(r.Config))
	return o.Close()
}

// Wait says what wakes a flow next: a run that ends, a point in time, or
// whichever comes first. State is given back to the step that follows.
type Wait struct {
	Run          string // id; empty: none
	Until        int64  // milliseconds; 0: none
	State        []byte // JSON, at most MaxState bytes
	StateVersion int
}

// StepResult is the output of a step that did not fail. Result answers the
// caller, once in a flow; without Wait the flow is over.
type StepResult struct {
	Result []byte // JSON object; empty: no answer in this step
	Code   Code   // beside a Result that is a tool's failure (S0.1)
	Wait   *Wait
	Note   string // how the flow stands, for people; kept until the next one
}

// AppendJSON appends the step result's JSON.
func (r *StepResult) AppendJSON(b []byte) []byte {
	o := jsonappend.Open(b)
	o.OptRaw("result", r.Result)
	o.OptString("code", string(r.Code))
	if w := r.Wait; w != nil {
		wo := jsonappend.Open(o.Key("wait"))
		wo.OptString("run", w.Run)
		wo.OptInt("until", w.Until)
		wo.Raw("state", orNull(w.State))
		wo.Int("stateVersion", int64(w.StateVersion))
		o.Value(wo.Close())
	}
	o.OptString("note", r.Note)
	return o.Close()
}

// Types of events.
const (
	EventRun    = "run"    // the run that was waited for has ended
	EventTime   = "time"   // the time that was waited for has come
	EventCancel = "cancel" // the flow is to end
)

// Event is what woke a flow.
type Event struct {
	Type string
	At   int64
	Run  *Run // of EventRun
}

// AppendJSON appends the event's JSON.
func (e *Event) AppendJSON(b []byte) []byte {
	o := jsonappend.Open(b)
	o.String("type", e.Type)
	o.Int("at", e.At)
	if e.Run != nil {
		o.Value(e.Run.AppendJSON(o.Key("run")))
	}
	return o.Close()
}

// AppendResult appends a step result that answers the caller. code is empty
// unless the tool failed (S0.1).
func AppendResult(b, result []byte, code Code) []byte {
	o := jsonappend.Open(b)
	o.Raw("result", result)
	o.OptString("code", string(code))
	return o.Close()
}

// AppendError appends {"error": {code, message}}: a step that failed, or a host
// function's refusal. Unknown codes become Internal.
func AppendError(b []byte, code Code, message string) []byte {
	if !code.Known() {
		code = Internal
	}
	o := jsonappend.Open(b)
	e := jsonappend.Open(o.Key("error"))
	e.String("code", string(code))
	e.String("message", message)
	o.Value(e.Close())
	return o.Close()
}

func orEmptyObject(raw []byte) []byte {
	if len(raw) == 0 {
		return []byte("{}")
	}
	return raw
}

func orNull(raw []byte) []byte {
	if len(raw) == 0 {
		return []byte("null")
	}
	return raw
}
