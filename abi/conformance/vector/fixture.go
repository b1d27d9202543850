package vector

import (
	"encoding/json"
	"fmt"

	"github.com/parley-wasm/parley/abi"
)

// Fixture is the system under test for one vector: a host with the vector's settings,
// stored sessions and agents, and with its own clock. Play calls the methods from one
// goroutine; each returns when its effect has happened.
type Fixture interface {
	// Call makes a tool call and waits for its answer, on the fixture's clock.
	Call(c *Call) Answer
	// Advance advances the clock.
	Advance(ms int64)
	Patch(p *Patch) error
	Receive(m *Inbound) Answer
	// Abort aborts a run as the operator.
	Abort(runID string) error
	// Restart shuts the gateway down and starts it again.
	Restart() error
	// Finish waits until all work has finished and returns the outcome.
	Finish() *Outcome
}

// Call is one tool call of a vector.
type Call struct {
	Tool           string
	Args           []byte
	Caller         abi.Caller
	ID             string // empty: the call has no id
	AbandonAfterMs int64  // 0: the caller waits without a limit
}

// Answer is the result of a call, with a code if the tool reports a failure, or an
// error.
type Answer struct {
	Result    []byte
	Code      abi.Code
	Err       error // matches an abi.Code, or is an internal error
	Abandoned bool  // the caller disconnected before the answer

	HostCalls  int // number of host calls
	ReplyBytes int // total length of their replies
}

// Patch changes a session as sessions.patch does (S8.2):
//
//	{"key": "agent:main:main", "sendPolicy": "allow"|"deny"|null, "archived": true|false}
//
// An absent member leaves its field unchanged; null unsets it.
type Patch struct {
	Key        string
	SendPolicy *string // empty: unset
	Archived   *bool
}

// Inbound is a message from a channel (chat.send):
//
//	{"sessionKey", "text", "from"?, "channel"?, "to"?, "accountId"?, "threadId"?}
//
// Without from, the operator is the sender. The answer, to which the step's
// expectation applies, is {"status": "accepted"}, or {"status": "ok"} for a command
// such as /send.
type Inbound struct {
	SessionKey string
	Text       string
	From       string
	Target     abi.Target
}

// Outcome is the state of a fixture when all work has finished.
type Outcome struct {
	Flows      []FlowOutcome
	Children   []ChildOutcome // created by flows and not deleted, in the order in which their runs were accepted
	Runs       []RunOutcome   // started by flows and messages, in order of acceptance
	Deliveries []DeliveryOutcome
	Problems   []string // deviations from the agents' script, and failures of the fixture
}

// FlowDone is the status of a flow that has ended.
const FlowDone = "done"

// FlowOutcome is one flow that started a run.
type FlowOutcome struct {
	Tool       string `json:"tool"`
	SessionKey string `json:"sessionKey,omitempty"` // the caller's
	Status     string `json:"status"`               // FlowDone, or the status in which it is stuck
	Note       string `json:"note,omitempty"`
}

// ChildOutcome is one child session.
type ChildOutcome struct {
	Key            string `json:"key"`
	SessionID      string `json:"sessionId"`
	AgentID        string `json:"agentId"`
	SpawnedBy      string `json:"spawnedBy,omitempty"`
	Label          string `json:"label,omitempty"`
	ModelOverride  string `json:"modelOverride,omitempty"`
	ThinkingLevel  string `json:"thinkingLevel,omitempty"`
	Sandboxed      bool   `json:"sandboxed,omitempty"`
	Status         string `json:"status,omitempty"`
	ArchivedAt     int64  `json:"archivedAt,omitempty"`
	TranscriptPath string `json:"transcriptPath,omitempty"`
}

// NewChildOutcome returns the outcome of a child session.
func NewChildOutcome(s *abi.Session) ChildOutcome {
	return ChildOutcome{
		Key: s.Key, SessionID: s.SessionID, AgentID: s.AgentID, SpawnedBy: s.SpawnedBy, Label: s.Label, ModelOverride: s.ModelOverride,
		ThinkingLevel: s.ThinkingLevel, Sandboxed: s.Sandboxed, Status: s.Status, ArchivedAt: s.ArchivedAt, TranscriptPath: s.TranscriptPath,
	}
}

// TranscriptPath returns the path that a fixture gives to the transcript of a new
// session.
func TranscriptPath(sessionID string) string { return "/store/" + sessionID + ".jsonl" }

// RunOutcome is one run.
type RunOutcome struct {
	SessionKey     string          `json:"sessionKey"`
	AgentID        string          `json:"agentId"`
	Message        string          `json:"message"`
	Context        string          `json:"context,omitempty"`
	Provenance     json.RawMessage `json:"provenance,omitempty"`
	Group          string          `json:"group"`
	NoTools        bool            `json:"noTools,omitempty"`
	TimeoutSeconds int             `json:"timeoutSeconds,omitempty"`
	Hops           int             `json:"hops,omitempty"`
	Status         string          `json:"status"`
	Reply          string          `json:"reply,omitempty"`
	Error          string          `json:"error,omitempty"`
	Attempts       int             `json:"attempts"`
}

// DeliveryOutcome is one delivery.
type DeliveryOutcome struct {
	SessionKey string `json:"sessionKey"`
	Text       string `json:"text"`
	Status     string `json:"status"`
	abi.Target
	Error string `json:"error,omitempty"`
}

// CallFunc is a Fixture that supports only calls of read-only tools.
type CallFunc func(tool string, args []byte) Answer

var _ Fixture = CallFunc(nil)

func (call CallFunc) Call(c *Call) Answer { return call(c.Tool, c.Args) }

func (CallFunc) Advance(int64) {}

func (CallFunc) Patch(*Patch) error { return errReadOnly }

func (CallFunc) Receive(*Inbound) Answer { return Answer{Err: errReadOnly} }

func (CallFunc) Abort(string) error { return errReadOnly }

func (CallFunc) Restart() error { return errReadOnly }

func (CallFunc) Finish() *Outcome { return &Outcome{} }

var errReadOnly = fmt.Errorf("vector: the fixture is read-only")
