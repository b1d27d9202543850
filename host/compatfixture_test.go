package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/sink"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/sqlite"
	"github.com/parley-wasm/parley/plugin/wasm"
)

// compatSettings are the settings with which the databases of testdata/former are
// written and resumed.
const compatSettings = `{
  session: { agentToAgent: { maxPingPongTurns: 3 } },
  tools: { sessions: { visibility: "all" }, agentToAgent: { enabled: true } },
  agents: {
    defaults: { subagents: { allowAgents: ["*"], archiveAfterMinutes: 60, maxConcurrent: 1, maxChildrenPerAgent: 10 } },
    list: [{ id: "main", default: true }, { id: "ops" }],
  },
  delivery: { maxAge: "2h" },
  runs: { groups: { main: 1 } },
  plugins: { verify: "none", rollback: { failures: 4, steps: 20 } },
}`

const archiveAfter = time.Hour

// compatFixture is a host over a database of testdata/former, in a synctest bubble.
type compatFixture struct {
	*testing.T
	*compatAgents
	*compatSink
	path string
	db   *compatStore
	host *host.Host
	zero time.Time // the bubble's time at the start
	at   time.Time // the database's time at zero
	ids  int
}

// compatStore is a deterministicStore, but with the database's own secret.
type compatStore struct{ deterministicStore }

func (s *compatStore) Secret() []byte { return s.DB.Secret() }

// openCompat opens a database at a given time.
func openCompat(t *testing.T, file string, at time.Time) *compatFixture {
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
	return &compatFixture{
		T: t, path: file, compatAgents: &compatAgents{}, compatSink: &compatSink{},
		db: &compatStore{deterministicStore{db}}, zero: time.Now(), at: at,
	}
}

// now returns the database's time.
func (w *compatFixture) now() time.Time { return w.at.Add(time.Since(w.zero)) }

// open creates a host that is not started.
func (w *compatFixture) open(module []byte, origin string) {
	w.Helper()
	c, err := config.Parse("test", []byte(compatSettings))
	if err != nil {
		w.Fatal(err)
	}
	w.host, err = host.New(w.Context(), module, &host.Options{
		Store: w.db, Config: c, CacheDir: cacheDir, Limits: generousLimits, Logger: slog.New(slog.DiscardHandler),
		BuiltIn: wasm.Parley, Origin: origin, Now: w.now,
		NewID:   func() string { w.ids++; return fmt.Sprintf("id-%03d", w.ids) },
		Runners: func(string) (runner.Runner, error) { return w.compatAgents, nil },
		Sinks:   func(string) (sink.Sink, error) { return w.compatSink, nil },
	})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(w.close)
}

// close closes the host at once and interrupts the work in progress.
func (w *compatFixture) close() {
	w.Helper()
	if w.host == nil {
		return
	}
	now, cancel := context.WithCancel(context.Background())
	cancel()
	if err := w.host.Close(now); err != nil && !errors.Is(err, context.Canceled) {
		w.Error(err)
	}
	w.host = nil
}

// rows reads all rows of flows, runs, deliveries, sessions and modules.
func (w *compatFixture) rows() *compatRows {
	w.Helper()
	ctx, all := w.Context(), &store.Filter{Limit: 10_000}
	view, err := w.db.View(ctx)
	if err != nil {
		w.Fatal(err)
	}
	r := &compatRows{Now: w.now().UnixMilli(), Messages: map[string]string{}, Children: map[string]string{}}
	errs := make([]error, 6)
	r.Flows, errs[0] = view.Flows(ctx, all)
	r.Runs, errs[1] = view.Runs(ctx, all)
	r.Deliveries, errs[2] = view.Deliveries(ctx, all)
	r.Modules, errs[3] = view.Modules(ctx)
	r.Activations, errs[4] = view.Activations(ctx, 100)
	r.States, errs[5] = view.StateCounts(ctx)
	listed, err := view.List(ctx, &abi.ListRequest{IncludeArchived: true, Limit: abi.MaxListLimit})
	errs = append(errs, err)
	keys := []string{"global"} // not listed under these settings
	for _, s := range listed.Rows {
		keys = append(keys, s.Session.Key)
	}
	for _, key := range keys {
		s, err := view.Get(ctx, key)
		r.Sessions, errs = append(r.Sessions, s.AppendJSON(nil)), append(errs, err)
	}
	for _, f := range r.Flows {
		for _, key := range f.Created {
			r.Children[key] = childStatus(getSession(w.T, w.db, key))
		}
	}
	for _, run := range r.Runs {
		messages, err := view.RunMessages(ctx, run.ID)
		for _, m := range messages {
			r.Messages[run.ID] += gjson.GetBytes(m, "role").Str + " "
		}
		errs = append(errs, err)
	}
	if err := errors.Join(append(errs, view.Close())...); err != nil {
		w.Fatal(err)
	}
	return r
}

func childStatus(s *abi.Session) string {
	switch {
	case s == nil:
		return "deleted"
	case s.ArchivedAt != 0:
		return "archived, " + s.Status
	}
	return s.Status
}

// compatCall is a tool call that can be repeated.
type compatCall struct {
	ID     string          `json:"id,omitempty"`
	Tool   string          `json:"tool"`
	Args   json.RawMessage `json:"args"`
	Caller abi.Caller      `json:"caller"`
}

func (c *compatCall) host() *host.Call {
	return &host.Call{ID: c.ID, Tool: c.Tool, Args: c.Args, Caller: c.Caller}
}

// compatRead is a call of a read-only tool and its result.
type compatRead struct {
	compatCall
	Result json.RawMessage `json:"result"`
}

// read makes calls of read-only tools and returns them with their results.
func (w *compatFixture) read(calls []compatRead) []compatRead {
	w.Helper()
	done := make([]compatRead, len(calls))
	for i, c := range calls {
		answer, err := w.host.Call(w.Context(), c.host())
		if err != nil {
			w.Fatalf("%s %s: %v", c.Tool, c.Args, err)
		}
		done[i] = compatRead{c.compatCall, answer.Result}
	}
	return done
}

// compatAgents is a runner that gives constant answers, at once or when released.
type compatAgents struct {
	mu      sync.Mutex
	turns   map[string]int           // number of turns, by session
	hang    map[string]int           // first turn that hangs, by session
	release map[string]chan struct{} // closed when the first turn may continue, by session
}

func (a *compatAgents) Run(ctx context.Context, t *runner.Turn) (*runner.Outcome, error) {
	hangs, release := a.count(t)
	if release != nil {
		<-release
	}
	switch {
	case hangs:
		<-ctx.Done()
		return nil, ctx.Err()
	case strings.HasPrefix(t.SessionKey, "agent:main:asks"):
		return &runner.Outcome{Text: "REPLY_SKIP"}, nil
	case t.SessionKey == "agent:ops:fails":
		return nil, errors.New("the model is overloaded")
	}
	in, out := int64(900), int64(300)
	return &runner.Outcome{Text: "an answer of " + t.AgentID + " ✓", Model: "small", Usage: &abi.Usage{Input: &in, Output: &out}}, nil
}

// count counts a turn and returns how it ends. A child's task may name the child's first
// turn that hangs.
func (a *compatAgents) count(t *runner.Turn) (hangs bool, release chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.turns == nil { // all agents answer at once
		return false, nil
	}
	var from int
	if n, _ := fmt.Sscanf(t.Message, "hang from turn %d", &from); n == 1 {
		a.hang[t.SessionKey] = from
	}
	a.turns[t.SessionKey]++
	n := a.turns[t.SessionKey]
	from = a.hang[t.SessionKey]
	if n == 1 {
		release = a.release[t.SessionKey]
	}
	return from != 0 && n >= from, release
}

// compatSink records messages. While failing is set, two channels fail.
type compatSink struct {
	captureSink
	failing bool
}

func (s *compatSink) Post(ctx context.Context, m *sink.Message) error {
	switch {
	case s.failing && m.Channel == "slack":
		return &sink.Permanent{Err: errors.New("channel_not_found")}
	case s.failing && m.Channel == "discord":
		return errors.New("503 Service Unavailable")
	}
	return s.captureSink.Post(ctx, m)
}
