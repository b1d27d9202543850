package store

import (
	"encoding/json"
	"strings"

	"github.com/parley-wasm/parley/abi"
)

// States of a flow.
const (
	FlowWaiting = "waiting"
	FlowParked  = "parked" // a step failed; it is tried again on demand
	FlowDone    = "done"
	FlowDropped = "dropped" // ended by the operator
)

// Flow is one tool call that writes: its state between two steps, and its
// answer. Times are milliseconds, 0 until they are known.
type Flow struct {
	ID           string          `json:"id"`
	Call         CallKey         `json:"call"`
	Digest       string          `json:"digest"` // of tool and arguments
	Tool         string          `json:"tool"`
	Caller       abi.Caller      `json:"caller"`
	Plugin       string          `json:"plugin"`           // name and version that wrote State
	Module       string          `json:"module,omitempty"` // digest of the module that wrote State
	Step         int             `json:"step"`             // steps committed; an update must know it
	Status       string          `json:"status"`
	State        json.RawMessage `json:"state,omitempty"`
	StateVersion int             `json:"stateVersion,omitempty"`
	WaitRun      string          `json:"waitRun,omitempty"`
	WaitUntil    int64           `json:"waitUntil,omitempty"`
	Sessions     []string        `json:"sessions,omitempty"` // in which it started runs
	Created      []string        `json:"created,omitempty"`  // children that it created
	Answer       json.RawMessage `json:"answer,omitempty"`
	Code         abi.Code        `json:"code,omitempty"`
	Failures     int             `json:"failures,omitempty"` // of the step that is due, in a row
	Error        string          `json:"error,omitempty"`    // why it is parked
	Note         string          `json:"note,omitempty"`     // how it stands, in the plugin's words
	Delivery     string          `json:"delivery,omitempty"` // what became of its last delivery that has ended
	AcceptedAt   int64           `json:"acceptedAt"`
	AnsweredAt   int64           `json:"answeredAt,omitempty"`
	UpdatedAt    int64           `json:"updatedAt"`
	EndedAt      int64           `json:"endedAt,omitempty"`
}

// Standing says how the flow stands, and what became of its delivery.
func (f *Flow) Standing() string {
	if f.Delivery == "" {
		return f.Note
	}
	return f.Note + ": " + f.Delivery
}

// Answered reports whether the caller has its answer.
func (f *Flow) Answered() bool { return f.AnsweredAt != 0 }

// Resting reports whether the flow has answered and waits for a time alone, such
// as that at which a session is archived: nothing is under way that anybody would
// wait for.
func (f *Flow) Resting() bool { return f.Status == FlowWaiting && f.Answered() && f.WaitRun == "" }

// Ended reports whether no step follows.
func (f *Flow) Ended() bool { return f.Status == FlowDone || f.Status == FlowDropped }

// Run is one execution of an agent for one user message. Its states are those of
// abi.Run; queued and running ones are scheduled work, and so is one that has
// ended and still has a Process.
type Run struct {
	ID         string  `json:"id"`
	Seq        int64   `json:"seq"` // order of acceptance, given by the store
	SessionKey string  `json:"sessionKey"`
	AgentID    string  `json:"agentId"`
	Group      string  `json:"group"` // one of the abi.Group constants; empty: a command, which no agent executed
	Request    CallKey `json:"request,omitzero"`
	Digest     string  `json:"digest,omitempty"` // of the request
	FlowID     string  `json:"flowId,omitempty"`
	Scope      string  `json:"scope"`               // of who started it, and may wait for it
	SpawnedBy  string  `json:"spawnedBy,omitempty"` // of a child's first run: the session that spawned the child

	Message        string          `json:"message"`
	Provenance     json.RawMessage `json:"provenance,omitempty"` // of the user message
	Context        string          `json:"context,omitempty"`
	NoTools        bool            `json:"noTools,omitempty"`
	Deliver        bool            `json:"deliver,omitempty"` // the reply goes to the session's channel
	Model          string          `json:"model,omitempty"`   // asked for
	Thinking       string          `json:"thinking,omitempty"`
	TimeoutSeconds int             `json:"timeoutSeconds,omitempty"` // from its start, all attempts together; 0: as configured
	Hops           int             `json:"hops,omitempty"`
	Sandboxed      bool            `json:"sandboxed,omitempty"` // whatever its session is

	Status    string          `json:"status"`
	Attempt   int             `json:"attempt,omitempty"` // the first is 1
	Process   json.RawMessage `json:"process,omitempty"` // what the running attempt left behind for whoever must end it
	Abort     string          `json:"abort,omitempty"`   // why it is to be killed
	Reply     string          `json:"reply,omitempty"`
	Error     string          `json:"error,omitempty"`
	UsedModel string          `json:"usedModel,omitempty"`
	Usage     *abi.Usage      `json:"usage,omitempty"`
	QueuedAt  int64           `json:"queuedAt"`
	StartedAt int64           `json:"startedAt,omitempty"` // of the first attempt
	EndedAt   int64           `json:"endedAt,omitempty"`
}

// Ended reports whether the run's outcome is known.
func (r *Run) Ended() bool { return r.EndedAt != 0 }

// Announces reports whether the run says what came of others: such a run has no
// tools (S4.7, S5.5).
func (r *Run) Announces() bool { return r.NoTools }

// ABI returns the run as a plugin sees it. Texts too long for a sandbox have lost
// their end.
func (r *Run) ABI() *abi.Run {
	return &abi.Run{
		ID: r.ID, Status: r.Status, Reply: cut(r.Reply), Error: cut(r.Error),
		Model: r.UsedModel, Usage: r.Usage, StartedAt: r.StartedAt, EndedAt: r.EndedAt,
	}
}

// cutMark ends a text that has lost its end.
const cutMark = "\n…(truncated)…"

// cut returns a text of at most abi.MaxText bytes, on a code-point boundary.
func cut(text string) string {
	if len(text) <= abi.MaxText {
		return text
	}
	return strings.ToValidUTF8(text[:abi.MaxText-len(cutMark)], "") + cutMark
}

// States of a delivery.
const (
	DeliveryPending   = "pending"
	DeliveryDelivered = "delivered"
	DeliverySkipped   = "skipped" // no target, or send policy
	DeliveryFailed    = "failed"  // refused for good, or too old; it can be sent again
)

// Delivery is one text on its way to a channel.
type Delivery struct {
	ID         string     `json:"id"` // the idempotency key that sinks get
	SessionKey string     `json:"sessionKey"`
	RunID      string     `json:"runId,omitempty"`
	FlowID     string     `json:"flowId,omitempty"`
	Text       string     `json:"text"`
	Target     abi.Target `json:"target,omitzero"` // empty until it is resolved (S9)
	Status     string     `json:"status"`
	Attempts   int        `json:"attempts,omitempty"`
	Error      string     `json:"error,omitempty"` // of the last attempt, or why it was skipped
	CreatedAt  int64      `json:"createdAt"`
	UpdatedAt  int64      `json:"updatedAt"`
	EndedAt    int64      `json:"endedAt,omitempty"`
}

// Ended reports whether nothing more is tried.
func (d *Delivery) Ended() bool { return d.EndedAt != 0 }
