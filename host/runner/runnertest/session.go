package runnertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/runner"
)

// ErrStale is returned by Append if a newer attempt has begun.
var ErrStale = errors.New("runnertest: a newer attempt has begun")

// Session is one session's transcript and the tools that its runs may call. It is
// safe for concurrent use. Session calls the On… functions without holding its lock.
// The test must set them before a turn runs.
type Session struct {
	OnCall     func(ctx context.Context, c *ToolCall) error // before a new call is executed
	OnAnswer   func(ctx context.Context, c *ToolCall) error // after a call was executed and recorded
	OnAppended func(ctx context.Context, role string) error // after a message was stored
	OnLeave    func(ctx context.Context, left any) error

	silent bool // Subject.Silent of the runner under test
	access access

	mu       sync.Mutex
	history  []json.RawMessage
	message  string            // the run's user message
	appended []json.RawMessage // by the current run
	attempt  int               // number of the newest attempt
	runs     int
	calls    []*ToolCall
	answers  map[string][]*runner.Answer // of future calls, by tool
	left     []json.RawMessage
}

// ToolCall is an executed tool call.
type ToolCall struct {
	Tool   string
	Args   json.RawMessage
	id     string
	answer *runner.Answer // nil until it is recorded
}

func (c *ToolCall) String() string { return c.Tool + string(c.Args) }

// NewSession returns a session without messages.
func NewSession() *Session {
	return &Session{answers: make(map[string][]*runner.Answer)}
}

// Add appends a text message to the history.
func (s *Session) Add(role, text string) { s.AddRaw(textMessage(role, text)) }

// AddRaw appends a JSON message to the history.
func (s *Session) AddRaw(message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.history = append(s.history, json.RawMessage(message))
}

// Answer sets the answers to the next calls of a tool; later calls get {}.
func (s *Session) Answer(tool string, answers ...*runner.Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[tool] = append(s.answers[tool], answers...)
}

// Turn returns the first attempt at a new run. The previous run must have ended.
func (s *Session) Turn(message string) *runner.Turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.message = message
	s.runs++
	return s.turn(&runner.Turn{
		RunID:      fmt.Sprintf("run-%d", s.runs),
		SessionKey: "agent:main:main",
		SessionID:  "session-1",
		AgentID:    "main",
		Message:    message,
	})
}

// End ends the run: its messages become part of the history. out is nil if the run
// failed.
func (s *Session) End(out *runner.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.history = append(s.history, json.RawMessage(textMessage("user", s.message)))
	s.history = append(s.history, s.appended...)
	if out != nil {
		s.history = append(s.history, json.RawMessage(textMessage("assistant", out.Text)))
	}
	s.appended = nil
}

// Retry returns the next attempt at t's run.
func (s *Session) Retry(t *runner.Turn) *runner.Turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	again := *t
	return s.turn(&again)
}

func (s *Session) turn(t *runner.Turn) *runner.Turn {
	t.Attempt++
	s.attempt++
	t.Transcript = &transcript{s: s, attempt: s.attempt}
	t.Tools = &tools{s: s, run: t.RunID, calls: make(map[string]int)}
	t.Leave = s.leave
	return t
}

// Roles returns the roles of the messages that the newest run has appended.
func (s *Session) Roles() []string {
	var roles []string
	for _, m := range s.Appended() {
		roles = append(roles, gjson.GetBytes(m, "role").Str)
	}
	return roles
}

// Appended returns the messages that the newest run has appended.
func (s *Session) Appended() []json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.appended)
}

// Calls returns the executed calls, without repeated calls that got a recorded answer.
func (s *Session) Calls() []*ToolCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Left returns the values that attempts passed to Turn.Leave, as JSON.
func (s *Session) Left() []json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.left)
}

func (s *Session) leave(ctx context.Context, left any) error {
	raw, err := json.Marshal(left)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.left = append(s.left, raw)
	s.mu.Unlock()
	if s.OnLeave != nil {
		return s.OnLeave(ctx, left)
	}
	return ctx.Err()
}

type transcript struct {
	s       *Session
	attempt int
}

var _ runner.Transcript = (*transcript)(nil)

func (t *transcript) History(ctx context.Context, messages, bytes int) ([]json.RawMessage, error) {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	from := len(t.s.history)
	for from > 0 && len(t.s.history)-from < messages && bytes >= len(t.s.history[from-1]) {
		from--
		bytes -= len(t.s.history[from])
	}
	return slices.Clone(t.s.history[from:]), ctx.Err()
}

func (t *transcript) Run(ctx context.Context) ([]json.RawMessage, error) {
	return t.s.Appended(), ctx.Err()
}

// Append refuses the messages that a store would refuse.
func (t *transcript) Append(ctx context.Context, messages ...json.RawMessage) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, m := range messages {
		if !json.Valid(m) {
			return fmt.Errorf("runnertest: appended message is not JSON: %s", m)
		}
		t.s.mu.Lock()
		stale := t.attempt != t.s.attempt
		if !stale {
			t.s.appended = append(t.s.appended, slices.Clone(m))
		}
		t.s.mu.Unlock()
		if stale {
			return ErrStale
		}
		if t.s.OnAppended != nil {
			if err := t.s.OnAppended(ctx, gjson.GetBytes(m, "role").Str); err != nil {
				return err
			}
		}
	}
	return nil
}

// Tools are the tools of a session's runs.
var Tools = []abi.Tool{
	{Name: "sessions_list", Description: "List sessions.", ReadOnly: true, InputSchema: []byte(`{"type":"object","properties":{"limit":{"type":"number"}}}`)},
	{Name: "sessions_send", Description: "Send a message.", InputSchema: []byte(`{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}`)},
}

func textMessage(role, text string) string {
	content, _ := json.Marshal([]map[string]string{{"type": "text", "text": text}})
	return fmt.Sprintf(`{"role":%q,"content":%s}`, role, content)
}
