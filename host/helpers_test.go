package host_test

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/internal/chat"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/sink"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/sqlite"
	"github.com/parley-wasm/parley/plugin/wasm"
)

// agentFunc is a runner that executes turns by calling a function of the test.
type agentFunc func(ctx context.Context, t *runner.Turn) (string, error)

func (a agentFunc) Run(ctx context.Context, t *runner.Turn) (*runner.Outcome, error) {
	text, err := a(ctx, t)
	if err != nil {
		return nil, err
	}
	return &runner.Outcome{Text: text}, nil
}

// openTestDB opens a database and stores the sessions agent:main:a to d and
// agent:ops:main. It can be called again with the same path.
func openTestDB(t *testing.T, file string) *sqlite.DB {
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

func dbPath(t *testing.T) string { return filepath.Join(t.TempDir(), "test.db") }

// startHost returns a started host over a database.
func startHost(t *testing.T, db store.Store, settings string, act agentFunc, change ...func(*host.Options)) *host.Host {
	t.Helper()
	h := newHost(t, db, settings, act, change...)
	if err := h.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return h
}

// newHost returns a host that is not started.
func newHost(t *testing.T, db store.Store, settings string, act agentFunc, change ...func(*host.Options)) *host.Host {
	t.Helper()
	c, err := config.Parse("test", []byte(settings))
	if err != nil {
		t.Fatal(err)
	}
	o := &host.Options{
		Store: db, Config: c, Logger: slog.New(slog.DiscardHandler), CacheDir: cacheDir, Limits: generousLimits,
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

const openSettings = `{
  tools: { sessions: { visibility: "all" }, agentToAgent: { enabled: true } },
  agents: { list: [{ id: "main", default: true }, { id: "ops" }] },
}`

// startRun starts a run with StartAgent and returns its id.
func startRun(t *testing.T, h *host.Host, key, message string) string {
	t.Helper()
	accepted, err := h.StartAgent(t.Context(), &chat.AgentRequest{SessionKey: key, Message: message})
	if err != nil {
		t.Fatal(err)
	}
	return accepted.RunID
}

// awaitReply waits until a run has ended and returns its reply. The run must succeed.
func awaitReply(t *testing.T, h *host.Host, id string) string {
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

// sendFromTurn calls sessions_send in a turn and returns its status and runId.
func sendFromTurn(ctx context.Context, turn *runner.Turn, args string) (status, runID string, err error) {
	answer, err := turn.Tools.Call(ctx, abi.ToolSend, []byte(args))
	if err != nil {
		return "", "", err
	}
	result := gjson.ParseBytes(answer.Result)
	return result.Get("status").Str, result.Get("runId").Str, nil
}

// countRuns returns the number of runs of a session.
func countRuns(t *testing.T, h *host.Host, key string) int {
	t.Helper()
	runs, err := h.Runs(t.Context(), &store.Filter{SessionKey: key})
	if err != nil {
		t.Fatal(err)
	}
	return len(runs)
}

// session returns the caller of a connection of this session.
func session(key string) abi.Caller {
	id, _, _ := sessionkey.Split(key)
	return abi.Caller{SessionKey: key, AgentID: id}
}

// putSessions stores sessions. It sets UpdatedAt to 1 if it is 0.
func putSessions(t *testing.T, db store.Durable, rows ...abi.Session) {
	t.Helper()
	err := db.Update(t.Context(), func(tx store.Tx) error {
		for i := range rows {
			if rows[i].UpdatedAt == 0 {
				rows[i].UpdatedAt = 1
			}
			if err := tx.PutSession(&rows[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// telegramSession returns a session whose announces are posted to Telegram; the
// recipient is the session's key.
func telegramSession(key string) abi.Session {
	return abi.Session{Key: key, SessionID: "id of " + key, LastChannel: "telegram", LastTo: key}
}

// getSession returns the stored session, or nil.
func getSession(t *testing.T, db store.Store, key string) *abi.Session {
	t.Helper()
	snapshot, err := db.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer snapshot.Close()
	s, err := snapshot.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// abortOnCleanup closes the host at the end of the test without waiting for its
// agents, which may never end by themselves.
func abortOnCleanup(t *testing.T, h *host.Host) *host.Host {
	t.Helper()
	t.Cleanup(func() {
		now, cancel := context.WithCancel(context.Background())
		cancel()
		_ = h.Close(now) // returns the context's error
	})
	return h
}

// spawned holds the ids of an accepted spawn.
type spawned struct{ flow, run, child string }

// spawn calls sessions_spawn, which must succeed.
func spawn(t *testing.T, h *host.Host, as abi.Caller, args string) spawned {
	t.Helper()
	answer, err := h.Call(t.Context(), &host.Call{Tool: abi.ToolSpawn, Caller: as, Args: []byte(args)})
	if err != nil {
		t.Fatal(err)
	}
	result := gjson.ParseBytes(answer.Result)
	if answer.Code != "" || result.Get("status").Str != "accepted" {
		t.Fatalf("spawn: answered %s", answer.Result)
	}
	return spawned{answer.FlowID, result.Get("runId").Str, result.Get("childSessionKey").Str}
}

// awaitStatus waits until a flow is idle and its delivery has ended, and returns the
// flow's status text.
func awaitStatus(t *testing.T, h *host.Host, flow string) string {
	t.Helper()
	if _, err := h.WaitFlow(t.Context(), flow); err != nil {
		t.Fatal(err)
	}
	f, err := h.Flow(t.Context(), flow) // with the outcome of its deliveries
	if err != nil {
		t.Fatal(err)
	}
	if f.Error != "" {
		t.Errorf("the flow is %s: %s", f.Status, f.Error)
	}
	return f.StatusText()
}

// isAnnounceTurn reports whether a turn writes a child's report.
func isAnnounceTurn(turn *runner.Turn) bool {
	return strings.HasPrefix(turn.Message, "Your task is over")
}

// captureSink records messages. After setRefusal it fails with a permanent error.
type captureSink struct {
	mu     sync.Mutex
	refuse string
	posts  []sink.Message
}

func (w *captureSink) Post(_ context.Context, m *sink.Message) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refuse != "" {
		return &sink.Permanent{Err: errors.New(w.refuse)}
	}
	w.posts = append(w.posts, *m)
	return nil
}

func (w *captureSink) setRefusal(refuse string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refuse = refuse
}

// take returns the messages posted since the previous call.
func (w *captureSink) take() []sink.Message {
	w.mu.Lock()
	defer w.mu.Unlock()
	posts := w.posts
	w.posts = nil
	return posts
}

// install makes the sink the host's sink for all channels.
func (w *captureSink) install(o *host.Options) {
	o.Sinks = func(string) (sink.Sink, error) { return w, nil }
}

// report holds the fields of an announce.
type report struct{ status, result, notes, stats string }

var announced = regexp.MustCompile(`^Status: (\w+)\nResult: ((?s:.*))\nNotes: ((?s:.*))\n\nStats: (.*)$`)

// parseReport parses a text, which must be exactly one announce.
func parseReport(t *testing.T, text string) report {
	t.Helper()
	m := announced.FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("not an announce: %.300q", text)
	}
	for _, label := range []string{"\nStatus: ", "\nStats: "} {
		if n := strings.Count("\n"+text, label); n != 1 {
			t.Fatalf("an announce has %d times %q: %.300q", n, label, text)
		}
	}
	return report{m[1], m[2], m[3], m[4]}
}

// onlyReport returns the only announce posted since the previous take. Its session and
// its recipient must be to.
func (w *captureSink) onlyReport(t *testing.T, to string) report {
	t.Helper()
	posts := w.take()
	if len(posts) != 1 {
		t.Fatalf("%d texts were posted, want one: %.600q", len(posts), posts)
	}
	if posts[0].To != to || posts[0].SessionKey != to {
		t.Errorf("posted to %+v for %s, want %s", posts[0].Target, posts[0].SessionKey, to)
	}
	return parseReport(t, posts[0].Text)
}
