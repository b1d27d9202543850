package abi

import (
	"math"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi/jsonobject"
)

// StatusRequest asks the import agent how a run stands.
// Reply: {"run": {…} | null}.
type StatusRequest struct {
	RunID string
}

var statusMembers = jsonobject.New(
	jsonobject.Required("op", name, func(*StatusRequest) any { return operation(OpStatus) }),
	jsonobject.Required("runId", name, func(r *StatusRequest) any { return &r.RunID }),
)

// ReadJSON reads what AppendJSON wrote.
func (r *StatusRequest) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return statusMembers.Read(v, r, mode)
}

// AppendJSON appends the request's JSON.
func (r *StatusRequest) AppendJSON(b []byte) []byte { return statusMembers.Append(b, r) }

// WaitsRequest asks the import agent whether a run of a session that has not
// ended waits for the caller's run, itself or through others: a wait for that
// session could not end (S4.4). Reply: {"waits": bool}.
type WaitsRequest struct {
	SessionKey string
}

var waitsMembers = jsonobject.New(
	jsonobject.Required("op", name, func(*WaitsRequest) any { return operation(OpWaits) }),
	jsonobject.Required("sessionKey", name, func(r *WaitsRequest) any { return &r.SessionKey }),
)

// ReadJSON reads what AppendJSON wrote.
func (r *WaitsRequest) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return waitsMembers.Read(v, r, mode)
}

// AppendJSON appends the request's JSON.
func (r *WaitsRequest) AppendJSON(b []byte) []byte { return waitsMembers.Append(b, r) }

// Groups bound how many runs are executed at once; a run of GroupNested is
// never held back by others.
const (
	GroupMain     = "main"     // messages from outside
	GroupSubagent = "subagent" // spawned children
	GroupNested   = "nested"   // what tools start
)

// RunRequest records the effect that a run is queued in a session: one user
// message, answered by the session's agent. Reply: {"runId": TEXT}. Refused are
// a session that is not stored (NotFound), and one to which send policy closes
// the way (Forbidden, S8).
type RunRequest struct {
	SessionKey     string // canonical
	Message        string // of the user message, not blank
	Context        string // for the agent alone, not kept in the transcript
	Source         string // the session on whose behalf: one in which this flow started a run, or the caller's, which is the default
	Group          string // GroupSubagent for the first run of a session that this step creates, else GroupNested
	NoTools        bool
	TimeoutSeconds int // from the run's start; 0: as configured, and in GroupSubagent none
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

// ReadJSON reads what AppendJSON wrote.
func (r *RunRequest) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return runRequestMembers.Read(v, r, mode)
}

// AppendJSON appends the request's JSON.
func (r *RunRequest) AppendJSON(b []byte) []byte { return runRequestMembers.Append(b, r) }

// SendRequest records the effect that a text is delivered to the channel of a
// session, resolved when it is posted (S9). Reply: {"deliveryId": TEXT}.
type SendRequest struct {
	SessionKey string
	Text       string
	RunID      string // whose answer it is
	AtCall     bool   // to the caller's session, by its target as it was when the flow was called
}

var sendMembers = jsonobject.New(
	jsonobject.Required("op", name, func(*SendRequest) any { return operation(OpSend) }),
	jsonobject.Required("sessionKey", name, func(r *SendRequest) any { return &r.SessionKey }),
	jsonobject.Required("text", name, func(r *SendRequest) any { return &r.Text }),
	jsonobject.Optional("runId", text, func(r *SendRequest) any { return &r.RunID }),
	jsonobject.Optional("atCall", flag, func(r *SendRequest) any { return &r.AtCall }),
)

// ReadJSON reads what AppendJSON wrote.
func (r *SendRequest) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return sendMembers.Read(v, r, mode)
}

// AppendJSON appends the request's JSON.
func (r *SendRequest) AppendJSON(b []byte) []byte { return sendMembers.Append(b, r) }
