package host_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/internal/chat"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/sqlite"
	"github.com/parley-wasm/parley/plugin/wasm"
)

// acting is an agent whose turns the test plays.
type acting func(ctx context.Context, t *runner.Turn) (string, error)

func (a acting) Run(ctx context.Context, t *runner.Turn) (*runner.Outcome, error) {
	text, err := a(ctx, t)
	if err != nil {
		return nil, err
	}
	return &runner.Outcome{Text: text}, nil
}

// stocked is a database with the sessions agent:main:a to d and agent:ops:main.
// Opened a second time, it is the same.
func stocked(t *testing.T, file string) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), file, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	err = db.Update(t.Context(), func(tx store.Tx) error {
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
	return db
}

func file(t *testing.T) string { return filepath.Join(t.TempDir(), "test.db") }

// alive is a host at work over a database.
func alive(t *testing.T, db store.Store, settings string, act acting, change ...func(*host.Options)) *host.Host {
	t.Helper()
	h := idle(t, db, settings, act, change...)
	if err := h.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return h
}

// idle is a host that is not started.
func idle(t *testing.T, db store.Store, settings string, act acting, change ...func(*host.Options)) *host.Host {
	t.Helper()
	c, err := config.Parse("test", []byte(settings))
	if err != nil {
		t.Fatal(err)
	}
	o := &host.Options{
		Store: db, Config: c, Logger: slog.New(slog.DiscardHandler), CacheDir: compiled, Limits: patient,
		Runners: func(string) (runner.Runner, error) { return act, nil },
	}
	for _, fn := range change {
		fn(o)
	}
	h, err := host.New(t.Context(), wasm.Parley, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
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
func send(ctx context.Context, turn *runner.Turn, args string) (status, runID string, err error) {
	answer, err := turn.Tools.Call(ctx, abi.ToolSend, []byte(args))
	if err != nil {
		return "", "", err
	}
	result := gjson.ParseBytes(answer.Result)
	return result.Get("status").Str, result.Get("runId").Str, nil
}

// count returns how many runs a session has had.
func count(t *testing.T, h *host.Host, key string) int {
	t.Helper()
	runs, err := h.Runs(t.Context(), &store.Filter{SessionKey: key})
	if err != nil {
		t.Fatal(err)
	}
	return len(runs)
}
