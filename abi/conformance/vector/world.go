package vector

import (
	"encoding/json"
	"fmt"

	"github.com/parley-wasm/parley/abi"
)

// World is where a vector is played: what it stores and configures, its agents,
// and a clock of its own. Its methods are called by one goroutine, one after the
// other, and return when what they say has happened.
type World interface {
	// Call makes a tool call and waits for its answer, on the world's clock.
	Call(c *Call) Answer
	// Pass lets so much time pass.
	Pass(ms int64)
	Patch(p *Patch) error
	Receive(m *Inbound) Answer
	Kill(runID string) error
	Restart() error
	// Finish waits until nothing is under way and returns what has happened.
	Finish() *Outcome
}

// Call is one tool call of a vector.
type Call struct {
	Tool           string
	Args           []byte
	Caller         abi.Caller
	ID             string // empty: unnamed
	AbandonAfterMs int64  // 0: the caller waits for the answer, however long it takes
}

// Answer is what came of a call: a result, with a code if it is a tool's
// failure, or an error.
type Answer struct {
	Result    []byte
	Code      abi.Code
	Err       error // matches an abi.Code, or is an internal failure
	Abandoned bool  // the caller went away before there was one

	HostCalls  int // host functions called
	ReplyBytes int // length of their replies together
}

// Patch changes a session as sessions.patch does (S8.2):
//
//	{"key": "agent:main:main", "sendPolicy": "allow"|"deny"|null, "archived": true|false}
//
// A member that is absent changes nothing; null unsets.
type Patch struct {
	Key        string
	SendPolicy *string // empty: unset
	Archived   *bool
}

// Inbound is a message from a channel (chat.send):
//
//	{"sessionKey", "text", "from"?, "channel"?, "to"?, "accountId"?, "threadId"?}
//
// Without from, the operator writes. Its answer, the result that the step's
// expectation is about, is {"status": "accepted"}, or {"status": "ok"} for a
// command such as /send.
type Inbound struct {
	SessionKey string
	Text       string
	From       string
	Target     abi.Target
}

// Outcome is what has happened in a world when nothing is under way any more.
type Outcome struct {
	Flows      []FlowOutcome
	Children   []ChildOutcome // that flows have created and not deleted, in the order in which their runs were accepted
	Runs       []RunOutcome   // that flows and messages started, in the order of acceptance
	Deliveries []DeliveryOutcome
	Problems   []string // what went wrong with the agents
}

// FlowDone is the status of a flow that has come to its end.
const FlowDone = "done"

// FlowOutcome is one flow that started a run.
type FlowOutcome struct {
	Tool       string `json:"tool"`
	SessionKey string `json:"sessionKey,omitempty"` // the caller's
	Status     string `json:"status"`               // done, or what it hangs in
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

// NewChildOutcome returns what is told of a child.
func NewChildOutcome(s *abi.Session) ChildOutcome {
	return ChildOutcome{
		Key: s.Key, SessionID: s.SessionID, AgentID: s.AgentID, SpawnedBy: s.SpawnedBy, Label: s.Label, ModelOverride: s.ModelOverride,
		ThinkingLevel: s.ThinkingLevel, Sandboxed: s.Sandboxed, Status: s.Status, ArchivedAt: s.ArchivedAt, TranscriptPath: s.TranscriptPath,
	}
}

// TranscriptPath is what a world says of where the transcript of a new session is.
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

// CallFunc is a world in which nothing happens but calls of read-only tools.
type CallFunc func(tool string, args []byte) Answer

var _ World = CallFunc(nil)

func (call CallFunc) Call(c *Call) Answer { return call(c.Tool, c.Args) }

func (CallFunc) Pass(int64) {}

func (CallFunc) Patch(*Patch) error { return errReadOnly }

func (CallFunc) Receive(*Inbound) Answer { return Answer{Err: errReadOnly} }

func (CallFunc) Kill(string) error { return errReadOnly }

func (CallFunc) Restart() error { return errReadOnly }

func (CallFunc) Finish() *Outcome { return &Outcome{} }

var errReadOnly = fmt.Errorf("in this world nothing changes")
