package abi

import (
	"strconv"

	"github.com/parley-wasm/parley/abi/jsonappend"
)

// StatusRequest asks the import agent how a run stands.
// Reply: {"run": {…} | null}.
type StatusRequest struct {
	RunID string
}

// AppendJSON appends the request's JSON.
func (r *StatusRequest) AppendJSON(b []byte) []byte {
	o := open(b, OpStatus)
	o.String("runId", r.RunID)
	return o.Close()
}

// WaitsRequest asks the import agent whether a run of a session that has not
// ended waits for the caller's run, itself or through others: a wait for that
// session could not end (S4.4). Reply: {"waits": bool}.
type WaitsRequest struct {
	SessionKey string
}

// AppendJSON appends the request's JSON.
func (r *WaitsRequest) AppendJSON(b []byte) []byte {
	o := open(b, OpWaits)
	o.String("sessionKey", r.SessionKey)
	return o.Close()
}

// AppendWaitsReply appends the reply of waits.
func AppendWaitsReply(b []byte, waits bool) []byte {
	return append(strconv.AppendBool(append(b, `{"ok":{"waits":`...), waits), "}}"...)
}

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

// AppendJSON appends the request's JSON.
func (r *RunRequest) AppendJSON(b []byte) []byte {
	o := open(b, OpRun)
	o.String("sessionKey", r.SessionKey)
	o.String("message", r.Message)
	o.OptString("context", r.Context)
	o.OptString("source", r.Source)
	o.String("group", r.Group)
	o.OptBool("noTools", r.NoTools)
	o.OptInt("timeoutSeconds", int64(r.TimeoutSeconds))
	return o.Close()
}

// AppendRunIDReply appends the reply of run.
func AppendRunIDReply(b []byte, id string) []byte {
	return append(jsonappend.String(append(b, `{"ok":{"runId":`...), id), "}}"...)
}

// SendRequest records the effect that a text is delivered to the channel of a
// session, resolved when it is posted (S9). Reply: {"deliveryId": TEXT}.
type SendRequest struct {
	SessionKey string
	Text       string
	RunID      string // whose answer it is
	AtCall     bool   // to the caller's session, by its target as it was when the flow was called
}

// AppendJSON appends the request's JSON.
func (r *SendRequest) AppendJSON(b []byte) []byte {
	o := open(b, OpSend)
	o.String("sessionKey", r.SessionKey)
	o.String("text", r.Text)
	o.OptString("runId", r.RunID)
	o.OptBool("atCall", r.AtCall)
	return o.Close()
}

// AppendDeliveryIDReply appends the reply of send.
func AppendDeliveryIDReply(b []byte, id string) []byte {
	return append(jsonappend.String(append(b, `{"ok":{"deliveryId":`...), id), "}}"...)
}

// Usage is what a model reported of a run. Absent counts are nil.
type Usage struct {
	Input  *int64   `json:"input,omitempty"`  // tokens
	Output *int64   `json:"output,omitempty"` // tokens
	Total  *int64   `json:"total,omitempty"`  // tokens
	Cost   *float64 `json:"cost,omitempty"`   // dollars, when the host knows prices
}

// AppendJSON appends the usage's JSON.
func (u *Usage) AppendJSON(b []byte) []byte {
	o := jsonappend.Open(b)
	optInt(&o, "input", u.Input)
	optInt(&o, "output", u.Output)
	optInt(&o, "total", u.Total)
	if u.Cost != nil {
		o.Value(strconv.AppendFloat(o.Key("cost"), *u.Cost, 'f', -1, 64))
	}
	return o.Close()
}

// Run states. All but the first two are final.
const (
	RunQueued  = "queued"
	RunRunning = "running"
	RunDone    = "done"
	RunFailed  = "failed"
	RunKilled  = "killed"  // aborted by the operator
	RunTimeout = "timeout" // over its own time limit
)

// Run is an agent run as the plugin sees it. Times are milliseconds, 0 until
// they are known.
type Run struct {
	ID        string
	Status    string // queued, running, done, failed, killed, timeout
	Reply     string
	Error     string
	Model     string // the one that really ran
	Usage     *Usage
	StartedAt int64
	EndedAt   int64
}

// AppendJSON appends the run's JSON.
func (r *Run) AppendJSON(b []byte) []byte {
	o := jsonappend.Open(b)
	o.String("id", r.ID)
	o.String("status", r.Status)
	o.OptString("reply", r.Reply)
	o.OptString("error", r.Error)
	o.OptString("model", r.Model)
	if r.Usage != nil {
		o.Value(r.Usage.AppendJSON(o.Key("usage")))
	}
	o.OptInt("startedAt", r.StartedAt)
	o.OptInt("endedAt", r.EndedAt)
	return o.Close()
}

// AppendRunReply appends the reply of status; nil is no run.
func AppendRunReply(b []byte, r *Run) []byte {
	b = append(b, `{"ok":{"run":`...)
	if r == nil {
		b = append(b, "null"...)
	} else {
		b = r.AppendJSON(b)
	}
	return append(b, "}}"...)
}
