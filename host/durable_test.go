package host_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/chat"
	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/run/agent"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/sqlite"
	"github.com/parley-wasm/parley/plugin/wasm"
)

// acting is an agent whose turns the test plays.
type acting func(ctx context.Context, t *agent.Turn) (string, error)

func (a acting) Run(ctx context.Context, t *agent.Turn) (*agent.Outcome, error) {
	text, err := a(ctx, t)
	if err != nil {
		return nil, err
	}
	return &agent.Outcome{Text: text}, nil
}

// alive is a host at work, over a database with the sessions agent:main:a to d
// and agent:ops:main.
func alive(t *testing.T, settings string, act acting) *host.Host {
	t.Helper()
	ctx := t.Context()
	db, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "test.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(ctx, func(tx store.Tx) error {
		for _, key := range []string{"agent:main:a", "agent:main:b", "agent:main:c", "agent:main:d", "agent:ops:main"} {
			if err := tx.PutSession(&abi.Session{Key: key, SessionID: key, UpdatedAt: 1}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Parse("test", []byte(settings))
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.New(ctx, wasm.Parley, &host.Options{
		Store: db, Config: c, Logger: slog.New(slog.DiscardHandler),
		Agents: func(string) (agent.Agent, error) { return act, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := h.Start(ctx); err != nil {
		t.Fatal(err)
	}
	return h
}

const everybody = `{
  tools: { sessions: { visibility: "all" }, agentToAgent: { enabled: true } },
  agents: { list: [{ id: "main", default: true }, { id: "ops" }] },
}`

// begin starts a run from outside and returns its id.
func begin(t *testing.T, h *host.Host, key, message string) string {
	t.Helper()
	accepted, err := h.StartAgent(t.Context(), &chat.AgentRequest{SessionKey: key, Message: message})
	if err != nil {
		t.Fatal(err)
	}
	return accepted.RunID
}

// reply waits for a run's end.
func reply(t *testing.T, h *host.Host, id string) string {
	t.Helper()
	r, err := h.WaitRun(t.Context(), operator, id, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != abi.RunDone {
		t.Fatalf("run %s is %s: %s", id, r.Status, r.Error)
	}
	return r.Reply
}

// send calls sessions_send in a turn, and returns its status and runId.
func send(ctx context.Context, turn *agent.Turn, args string) (status, runID string, err error) {
	answer, err := turn.Tools.Call(ctx, abi.ToolSend, []byte(args))
	if err != nil {
		return "", "", err
	}
	result := gjson.ParseBytes(answer.Result)
	return result.Get("status").Str, result.Get("runId").Str, nil
}

// Two sends that cross: each is decided before the other is on disk. One waits,
// the other is told at once that it cannot.
func TestSendsThatCross(t *testing.T) {
	const rounds = 8
	both := make(chan struct{})
	var ready sync.WaitGroup
	ready.Add(2)
	h := alive(t, everybody, func(ctx context.Context, turn *agent.Turn) (string, error) {
		if turn.Message != "go" {
			return "heard", nil
		}
		other := map[string]string{"agent:main:a": "agent:main:b", "agent:main:b": "agent:main:a"}[turn.SessionKey]
		ready.Done()
		<-both
		status, _, err := send(ctx, turn, fmt.Sprintf(`{"sessionKey":%q,"message":"hello","timeoutSeconds":60,"announce":"none"}`, other))
		return status, err
	})
	for range rounds {
		a, b := begin(t, h, "agent:main:a", "go"), begin(t, h, "agent:main:b", "go")
		ready.Wait()
		close(both)
		got := map[string]int{reply(t, h, a): 1}
		got[reply(t, h, b)]++
		if got["timeout"] > 0 || got["ok"] == 0 {
			t.Fatalf("of two sends that cross: %v", got)
		}
		both = make(chan struct{})
		ready.Add(2)
	}
}

// Only who started a run may wait on it, and the operator (S4.4).
func TestWhoMayWait(t *testing.T) {
	h := alive(t, everybody, func(ctx context.Context, turn *agent.Turn) (string, error) {
		if turn.SessionKey == "agent:main:b" {
			return "done", nil
		}
		_, id, err := send(ctx, turn, `{"sessionKey":"agent:main:b","message":"hello","timeoutSeconds":0,"announce":"none"}`)
		return id, err
	})
	starter := begin(t, h, "agent:main:a", "send")
	id := reply(t, h, starter)
	for _, tt := range []struct {
		name   string
		caller abi.Caller
		code   abi.Code
	}{
		{"the session that started it", abi.Caller{SessionKey: "agent:main:a", AgentID: "main"}, ""},
		{"a run of that session", abi.Caller{SessionKey: "agent:main:a", AgentID: "main", RunID: starter}, ""},
		{"the operator", operator, ""},
		{"the session that it ran in", abi.Caller{SessionKey: "agent:main:b", AgentID: "main"}, abi.NotFound},
		{"another session of the agent", abi.Caller{SessionKey: "agent:main:c", AgentID: "main"}, abi.NotFound},
		{"another agent", abi.Caller{SessionKey: "agent:ops:main", AgentID: "ops"}, abi.NotFound},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := h.WaitRun(t.Context(), tt.caller, id, time.Minute)
			switch {
			case tt.code != "" && !errors.Is(err, tt.code):
				t.Errorf("got %+v, %v; want %s", r, err, tt.code)
			case tt.code == "" && (err != nil || r.Reply != "done"):
				t.Errorf("got %+v, %v; want the ended run", r, err)
			}
		})
	}
}

// A run that waits for another one takes no slot, and does not wait for one that
// cannot begin before it has ended (S4.5).
func TestRunsThatWait(t *testing.T) {
	var h *host.Host
	third := make(chan struct{})
	h = alive(t, `{ runs: { groups: { main: 1 } }, `+everybody[1:], func(ctx context.Context, turn *agent.Turn) (string, error) {
		switch turn.Message {
		case "hello":
			select {
			case <-third:
			case <-ctx.Done():
			}
			return "heard", ctx.Err()
		case "third":
			close(third)
			return "", nil
		case "wait":
		default: // a turn of the reply-back loop
			return "REPLY_SKIP", nil
		}
		self := abi.Caller{SessionKey: turn.SessionKey, AgentID: "main", RunID: turn.RunID}
		var said []string
		for _, to := range []string{"agent:main:b", turn.SessionKey} {
			_, id, err := send(ctx, turn, fmt.Sprintf(`{"sessionKey":%q,"message":"hello","timeoutSeconds":0,"announce":"none"}`, to))
			if err != nil {
				return "", err
			}
			r, err := h.WaitRun(ctx, self, id, 50*time.Second)
			if err != nil {
				return "", err
			}
			said = append(said, r.Status)
		}
		return strings.Join(said, " "), nil
	})
	first := begin(t, h, "agent:main:a", "wait")
	begin(t, h, "agent:main:c", "third")
	// The other session's run ends when the third has begun, which needs the slot.
	if got := reply(t, h, first); got != "done queued" {
		t.Errorf("a run that waits for another session, and then for itself, saw %q", got)
	}
}
