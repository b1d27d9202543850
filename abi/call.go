package abi

import "github.com/parley-wasm/parley/abi/jsonappend"

// Caller is who asks: a session with its agent, or the operator (S0.3). The
// host sets it from the connection's credentials or the run's token, never from
// tool arguments.
type Caller struct {
	SessionKey string // canonical; empty for the operator
	AgentID    string
	Channel    string
	To         string
	AccountID  string
	ThreadID   string
	Sandboxed  bool
	Depth      int // 0, or 1 for a spawned child
	Hops       int // how many flows in a row led here (S5.6)
	Operator   bool
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
