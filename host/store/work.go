package store

import (
	"encoding/json"
	"strings"

	"github.com/parley-wasm/parley/abi"
)

// States of a flow.
const (
	FlowWaiting = "waiting"
	FlowParked  = "parked" // a step failed; it is retried on demand
	FlowDone    = "done"
	FlowDropped = "dropped" // ended by the operator
)

// Flow is one tool call that writes: its state between two steps, and its answer.
// Times are in milliseconds, and 0 until they are known.
type Flow struct {
	ID           string          `json:"id"`
	Call         CallKey         `json:"call"`
	Digest       string          `json:"digest"` // of tool and arguments
	Tool         string          `json:"tool"`
	Caller       abi.Caller      `json:"caller"`
	Plugin       string          `json:"plugin"`           // name and version that wrote State
	Module       string          `json:"module,omitempty"` // digest of the module that wrote State
	Step         int             `json:"step"`             // number of committed steps; a writer must check that it has not changed
	Status       string          `json:"status"`
	State        json.RawMessage `json:"state,omitempty"`
	StateVersion int             `json:"stateVersion,omitempty"`
	WaitRun      string          `json:"waitRun,omitempty"`
	WaitUntil    int64           `json:"waitUntil,omitempty"`
	Sessions     []string        `json:"sessions,omitempty"` // sessions in which the flow started runs
	Created      []string        `json:"created,omitempty"`  // children that the flow created
	Answer       json.RawMessage `json:"answer,omitempty"`
	Code         abi.Code        `json:"code,omitempty"`
	Failures     int             `json:"failures,omitempty"` // consecutive failures of the next step
	Error        string          `json:"error,omitempty"`    // why the flow is parked
	Note         string          `json:"note,omitempty"`     // the flow's progress, written by the plugin
	Delivery     string          `json:"delivery,omitempty"` // outcome of the delivery that ended last
	AcceptedAt   int64           `json:"acceptedAt"`
	AnsweredAt   int64           `json:"answeredAt,omitempty"`
	UpdatedAt    int64           `json:"updatedAt"`
	EndedAt      int64           `json:"endedAt,omitempty"`
}

// StatusText returns the flow's note, followed by the outcome of its delivery.
func (f *Flow) StatusText() string {
	if f.Delivery == "" {
		return f.Note
	}
	return f.Note + ": " + f.Delivery
}

// Answered reports whether the flow has answered its call.
func (f *Flow) Answered() bool { return f.AnsweredAt != 0 }

// Idle reports whether the flow is idle: it has answered and waits only for a time,
// such as the time at which a session is archived. No caller waits for an idle flow.
func (f *Flow) Idle() bool { return f.Status == FlowWaiting && f.Answered() && f.WaitRun == "" }

// Ended reports whether the flow has no further steps.
func (f *Flow) Ended() bool { return f.Status == FlowDone || f.Status == FlowDropped }

// Run is one execution of an agent for one user message. Its statuses are those of
// abi.Run. A run is scheduled work while it is queued or running, and after it has
// ended as long as it has a Process.
type Run struct {
	ID         string  `json:"id"`
	Seq        int64   `json:"seq"` // order of acceptance, assigned by the store
	SessionKey string  `json:"sessionKey"`
	AgentID    string  `json:"agentId"`
	Group      string  `json:"group"` // one of the abi.Group constants; empty: a command, which no agent executes
	Request    CallKey `json:"request,omitzero"`
	Digest     string  `json:"digest,omitempty"` // of the request
	FlowID     string  `json:"flowId,omitempty"`
	Scope      string  `json:"scope"`               // of the caller that started the run and may wait for it
	SpawnedBy  string  `json:"spawnedBy,omitempty"` // for a child's first run: the session that spawned the child

	Message        string          `json:"message"`
	Provenance     json.RawMessage `json:"provenance,omitempty"` // of the user message
	Context        string          `json:"context,omitempty"`
	NoTools        bool            `json:"noTools,omitempty"`
	Deliver        bool            `json:"deliver,omitempty"` // the reply goes to the session's channel
	Model          string          `json:"model,omitempty"`   // the requested model
	Thinking       string          `json:"thinking,omitempty"`
	TimeoutSeconds int             `json:"timeoutSeconds,omitempty"` // from the start, for all attempts together; 0: as configured
	Hops           int             `json:"hops,omitempty"`
	Sandboxed      bool            `json:"sandboxed,omitempty"` // even if its session is not

	Status    string          `json:"status"`
	Attempt   int             `json:"attempt,omitempty"` // the first is 1
	Process   json.RawMessage `json:"process,omitempty"` // of the attempt, as its runner recorded it; a later attempt ends it if it still runs
	Abort     string          `json:"abort,omitempty"`   // why the run is to be aborted
	Reply     string          `json:"reply,omitempty"`
	Error     string          `json:"error,omitempty"`
	UsedModel string          `json:"usedModel,omitempty"`
	Usage     *abi.Usage      `json:"usage,omitempty"`
	QueuedAt  int64           `json:"queuedAt"`
	StartedAt int64           `json:"startedAt,omitempty"` // of the first attempt
	EndedAt   int64           `json:"endedAt,omitempty"`
}

// Ended reports whether the run has an outcome.
func (r *Run) Ended() bool { return r.EndedAt != 0 }

// Announces reports whether the run announces the results of other runs. Such a run
// has no tools (S4.7, S5.5).
func (r *Run) Announces() bool { return r.NoTools }

// ABI returns the run in the form that plugins receive. Long texts are truncated to
// abi.MaxText bytes.
func (r *Run) ABI() *abi.Run {
	return &abi.Run{
		ID: r.ID, Status: r.Status, Reply: truncate(r.Reply), Error: truncate(r.Error),
		Model: r.UsedModel, Usage: r.Usage, StartedAt: r.StartedAt, EndedAt: r.EndedAt,
	}
}

// truncationNote ends a truncated text.
const truncationNote = "\n…(truncated)…"

// truncate shortens a text to at most abi.MaxText bytes, on a code-point boundary.
func truncate(text string) string {
	if len(text) <= abi.MaxText {
		return text
	}
	return strings.ToValidUTF8(text[:abi.MaxText-len(truncationNote)], "") + truncationNote
}

// States of a delivery.
const (
	DeliveryPending   = "pending"
	DeliveryDelivered = "delivered"
	DeliverySkipped   = "skipped" // no target, or send policy
	DeliveryFailed    = "failed"  // permanently refused, or too old; it can be sent again
)

// Delivery is one text on its way to a channel.
type Delivery struct {
	ID         string     `json:"id"` // the idempotency key that sinks get
	SessionKey string     `json:"sessionKey"`
	RunID      string     `json:"runId,omitempty"`
	FlowID     string     `json:"flowId,omitempty"`
	Text       string     `json:"text"`
	Target     abi.Target `json:"target,omitzero"` // empty until resolved (S9)
	Status     string     `json:"status"`
	Attempts   int        `json:"attempts,omitempty"`
	Error      string     `json:"error,omitempty"` // of the last attempt, or why the delivery was skipped
	CreatedAt  int64      `json:"createdAt"`
	UpdatedAt  int64      `json:"updatedAt"`
	EndedAt    int64      `json:"endedAt,omitempty"`
}

// Ended reports whether the delivery has no further attempts.
func (d *Delivery) Ended() bool { return d.EndedAt != 0 }
