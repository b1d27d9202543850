package abi

import (
	"math"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi/jsonobject"
)

// StatusRequest asks for the state of a run.
// Reply: {"run": {…} | null}.
type StatusRequest struct {
	RunID string
}

var statusMembers = jsonobject.New(
	jsonobject.Required("op", name, func(*StatusRequest) any { return operation(OpStatus) }),
	jsonobject.Required("runId", name, func(r *StatusRequest) any { return &r.RunID }),
)

// ReadJSON reads the JSON that AppendJSON writes.
func (r *StatusRequest) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return statusMembers.Read(v, r, mode)
}

// AppendJSON appends the request's JSON.
func (r *StatusRequest) AppendJSON(b []byte) []byte { return statusMembers.Append(b, r) }

// WaitsRequest asks whether an unfinished run of a session waits for the caller's run,
// directly or through other runs. If it does, waiting for that session would be a
// deadlock (S4.4). Reply: {"waits": bool}.
type WaitsRequest struct {
	SessionKey string
}

var waitsMembers = jsonobject.New(
	jsonobject.Required("op", name, func(*WaitsRequest) any { return operation(OpWaits) }),
	jsonobject.Required("sessionKey", name, func(r *WaitsRequest) any { return &r.SessionKey }),
)

// ReadJSON reads the JSON that AppendJSON writes.
func (r *WaitsRequest) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return waitsMembers.Read(v, r, mode)
}

// AppendJSON appends the request's JSON.
func (r *WaitsRequest) AppendJSON(b []byte) []byte { return waitsMembers.Append(b, r) }

// Groups of runs. A host bounds the number of concurrent runs of each group, except
// GroupNested.
const (
	GroupMain     = "main"     // messages from outside
	GroupSubagent = "subagent" // spawned children
	GroupNested   = "nested"   // runs started by tools
)

// RunRequest records the effect of queueing a run in a session: one user message,
// answered by the session's agent. Reply: {"runId": TEXT}. The host refuses with NotFound
// if the session is not stored, and with Forbidden if the send policy denies messages to
// it (S8).
type RunRequest struct {
	SessionKey     string // canonical
	Message        string // text of the user message, not blank
	Context        string // passed to the agent, not stored in the transcript
	Source         string // session that sends the message: the caller's (the default), or one in which this flow started a run
	Group          string // GroupSubagent for the first run of a session that this step creates, else GroupNested
	NoTools        bool
	TimeoutSeconds int // from the run's start; 0: the configured limit, or no limit in GroupSubagent
}

var runRequestMembers = jsonobject.New(
	jsonobject.Required("op", name, func(*RunRequest) any { return operation(OpRun) }),
	jsonobject.Required("sessionKey", name, func(r *RunRequest) any { return &r.SessionKey }),
	jsonobject.Required("message", name, func(r *RunRequest) any { return &r.Message }),
	jsonobject.Optional("context", text, func(r *RunRequest) any { return &r.Context }),
	jsonobject.Optional("source", text, func(r *RunRequest) any { return &r.Source }),
	jsonobject.Required("group", name, func(r *RunRequest) any { return &r.Group }),
	jsonobject.Optional("noTools", flag, func(r *RunRequest) any { return &r.NoTools }),
	jsonobject.Optional("timeoutSeconds", between(0, math.MaxInt32), func(r *RunRequest) any { return &r.TimeoutSeconds }),
)

// ReadJSON reads the JSON that AppendJSON writes.
func (r *RunRequest) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return runRequestMembers.Read(v, r, mode)
}

// AppendJSON appends the request's JSON.
func (r *RunRequest) AppendJSON(b []byte) []byte { return runRequestMembers.Append(b, r) }

// SendRequest records the effect of delivering a text to the channel of a session. The
// host resolves the destination when it posts the text (S9).
// Reply: {"deliveryId": TEXT}.
type SendRequest struct {
	SessionKey string
	Text       string
	RunID      string // run whose answer the text is
	AtCall     bool   // use the destination that the caller's session had at the call; SessionKey must be that session
}

var sendMembers = jsonobject.New(
	jsonobject.Required("op", name, func(*SendRequest) any { return operation(OpSend) }),
	jsonobject.Required("sessionKey", name, func(r *SendRequest) any { return &r.SessionKey }),
	jsonobject.Required("text", name, func(r *SendRequest) any { return &r.Text }),
	jsonobject.Optional("runId", text, func(r *SendRequest) any { return &r.RunID }),
	jsonobject.Optional("atCall", flag, func(r *SendRequest) any { return &r.AtCall }),
)

// ReadJSON reads the JSON that AppendJSON writes.
func (r *SendRequest) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return sendMembers.Read(v, r, mode)
}

// AppendJSON appends the request's JSON.
func (r *SendRequest) AppendJSON(b []byte) []byte { return sendMembers.Append(b, r) }
