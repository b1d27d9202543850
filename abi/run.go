package abi

import (
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi/jsonobject"
)

// Statuses of a run. RunQueued and RunRunning are not final; the others are.
const (
	RunQueued  = "queued"
	RunRunning = "running"
	RunDone    = "done"
	RunFailed  = "failed"
	RunKilled  = "killed"  // aborted by the operator
	RunTimeout = "timeout" // exceeded its own time limit
)

// Run is an agent run as the plugin sees it. Times are milliseconds since the Unix epoch,
// 0 while unknown.
type Run struct {
	ID        string
	Status    string // queued, running, done, failed, killed, timeout
	Reply     string
	Error     string
	Model     string // model that was used
	Usage     *Usage
	StartedAt int64
	EndedAt   int64
}

var runMembers = jsonobject.New(
	jsonobject.Required("id", text, func(r *Run) any { return &r.ID }),
	jsonobject.Required("status", text, func(r *Run) any { return &r.Status }),
	jsonobject.Optional("reply", text, func(r *Run) any { return &r.Reply }),
	jsonobject.Optional("error", text, func(r *Run) any { return &r.Error }),
	jsonobject.Optional("model", text, func(r *Run) any { return &r.Model }),
	jsonobject.Optional("usage", object, func(r *Run) any { return jsonobject.Maybe(&r.Usage) }),
	jsonobject.Optional("startedAt", whole, func(r *Run) any { return &r.StartedAt }),
	jsonobject.Optional("endedAt", whole, func(r *Run) any { return &r.EndedAt }),
)

// ReadJSON reads the JSON that AppendJSON writes.
func (r *Run) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return runMembers.Read(v, r, mode)
}

// AppendJSON appends the run's JSON.
func (r *Run) AppendJSON(b []byte) []byte { return runMembers.Append(b, r) }

// Usage holds the token counts and the cost of a run. A value that is not known is nil.
type Usage struct {
	Input  *int64   `json:"input,omitempty"`  // tokens
	Output *int64   `json:"output,omitempty"` // tokens
	Total  *int64   `json:"total,omitempty"`  // tokens
	Cost   *float64 `json:"cost,omitempty"`   // dollars
}

var usageMembers = jsonobject.New(
	jsonobject.Optional("input", whole, func(u *Usage) any { return &u.Input }),
	jsonobject.Optional("output", whole, func(u *Usage) any { return &u.Output }),
	jsonobject.Optional("total", whole, func(u *Usage) any { return &u.Total }),
	jsonobject.Optional("cost", number, func(u *Usage) any { return &u.Cost }),
)

// ReadJSON reads the JSON that AppendJSON writes.
func (u *Usage) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return usageMembers.Read(v, u, mode)
}

// AppendJSON appends the usage's JSON.
func (u *Usage) AppendJSON(b []byte) []byte { return usageMembers.Append(b, u) }
