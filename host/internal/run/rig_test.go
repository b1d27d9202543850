package run_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/internal/run"
	"github.com/parley-wasm/parley/host/internal/work"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/sqlite"
)

// agentFunc is an agent in a test.
type agentFunc func(ctx context.Context, t *runner.Turn) (*runner.Outcome, error)

func (f agentFunc) Run(ctx context.Context, t *runner.Turn) (*runner.Outcome, error) {
	return f(ctx, t)
}

// says is an agent that always answers the same.
func says(text string) agentFunc {
	return func(context.Context, *runner.Turn) (*runner.Outcome, error) { return &runner.Outcome{Text: text}, nil }
}

// rig is a store and what executes its runs. It begins with start.
type rig struct {
	*run.Manager
	t      testing.TB
	store  store.Durable // as the manager sees it
	plain  store.Durable
	config *config.Config
	agent  runner.Runner
	worker *work.Worker
	o      run.Options // more of them
	closed bool
}

func openStore(t testing.TB) store.Durable {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "a.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func newRig(t testing.TB, a runner.Runner) *rig {
	t.Helper()
	s := openStore(t)
	return &rig{t: t, store: s, plain: s, config: config.Default(), agent: a}
}

// next is the gateway after this one, on the same store.
func (r *rig) next(a runner.Runner) *rig {
	return &rig{t: r.t, store: r.plain, plain: r.plain, config: r.config, agent: a, o: r.o}
}

// start begins as the sole owner of the store.
func (r *rig) start() *rig {
	r.t.Helper()
	r.possess()
	if err := r.Start(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	return r
}

// possess owns the store, and begins nothing.
func (r *rig) possess() *rig {
	r.t.Helper()
	silent := slog.New(slog.DiscardHandler)
	var err error
	if r.worker, err = work.NewWorker(&work.WorkerOptions{Store: r.store, Logger: silent}); err != nil {
		r.t.Fatal(err)
	}
	if err := r.worker.TakeOver(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	o := r.o
	o.Store, o.Worker, o.Logger = r.store, r.worker, silent
	o.Config = func() *config.Config { return r.config }
	if o.Runners == nil {
		o.Runners = func(string) (runner.Runner, error) { return r.agent, nil }
	}
	if r.Manager, err = run.New(&o); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { r.close(context.Background()) })
	return r
}

func (r *rig) close(ctx context.Context) {
	r.t.Helper()
	if r.closed {
		return
	}
	r.closed = true
	if err := r.Close(ctx); err != nil && ctx.Err() == nil {
		r.t.Error(err)
	}
	if err := r.worker.Close(context.Background()); err != nil {
		r.t.Error(err)
	}
}

// kill ends the gateway as kill -9 does, but for its agents, whose contexts end:
// nothing of what it holds is written or given back.
func (r *rig) kill() {
	r.t.Helper()
	r.closed = true
	r.store.(*faulty).fail(func(int64) bool { return true })
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_ = r.Close(ended)
	_ = r.worker.Close(ended)
}

func (r *rig) update(fn func(store.Tx) error) {
	r.t.Helper()
	if err := r.plain.Update(context.Background(), fn); err != nil {
		r.t.Fatal(err)
	}
}

func key(session string) string { return "agent:main:" + session }

// session stores one.
func (r *rig) session(name string, with ...func(*abi.Session)) {
	r.t.Helper()
	s := &abi.Session{Key: key(name), AgentID: "main", SessionID: "id-" + name, UpdatedAt: 1}
	for _, fn := range with {
		fn(s)
	}
	r.update(func(tx store.Tx) error { return tx.PutSession(s) })
}

// queue queues a run in a session that is there.
func (r *rig) queue(id, session string, with ...func(*store.Run)) {
	r.t.Helper()
	row := newRun(id, session, with...)
	r.update(func(tx store.Tx) error { return work.QueueRun(tx, row) })
}

func newRun(id, session string, with ...func(*store.Run)) *store.Run {
	row := &store.Run{
		ID: id, SessionKey: key(session), AgentID: "main", Group: abi.GroupMain, Scope: "operator",
		Message: "message of " + id, Status: abi.RunQueued, QueuedAt: 1,
	}
	for _, fn := range with {
		fn(row)
	}
	return row
}

func group(name string) func(*store.Run) { return func(r *store.Run) { r.Group = name } }

// wait returns the run as it ended.
func (r *rig) wait(id string) *store.Run {
	r.t.Helper()
	row, err := r.Wait(context.Background(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	return row
}

// ends waits for the run and checks how it ended.
func (r *rig) ends(id, status, text string) *store.Run {
	r.t.Helper()
	row := r.wait(id)
	if got := row.Reply + row.Error; row.Status != status || got != text {
		r.t.Errorf("run %s ended as %s %q, want %s %q", id, row.Status, got, status, text)
	}
	return row
}

func view[T any](r *rig, fn func(store.View) (T, error)) T {
	r.t.Helper()
	v, err := r.plain.View(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	defer v.Close()
	got, err := fn(v)
	if err != nil {
		r.t.Fatal(err)
	}
	return got
}

func (r *rig) row(id string) *store.Run {
	r.t.Helper()
	return view(r, func(v store.View) (*store.Run, error) { return v.Run(context.Background(), id) })
}

func (r *rig) stored(session string) *abi.Session {
	r.t.Helper()
	return view(r, func(v store.View) (*abi.Session, error) { return v.Get(context.Background(), key(session)) })
}

// transcript returns the session's messages, oldest first, one a line.
func (r *rig) transcript(session string) string {
	r.t.Helper()
	page := view(r, func(v store.View) (*abi.HistoryPage, error) {
		return v.History(context.Background(), &abi.HistoryRequest{SessionKey: key(session), Limit: abi.MaxHistoryLimit})
	})
	text := ""
	for _, m := range page.Messages {
		text = string(m.JSON) + "\n" + text
	}
	return text
}

func (r *rig) scheduled(kind string) int {
	r.t.Helper()
	return len(view(r, func(v store.View) ([]store.Due, error) { return v.Due(context.Background(), kind) }))
}

var errFull = errors.New("the disk is full")

// faulty is a store whose n-th update fails if fails says so.
type faulty struct {
	store.Durable
	n     atomic.Int64
	mu    sync.Mutex
	fails func(n int64) bool
	fixed atomic.Bool // runs cannot be written
}

type faultyTx struct {
	store.Tx
	f *faulty
}

func (tx *faultyTx) PutRun(r *store.Run) error {
	if tx.f.fixed.Load() {
		return errFull
	}
	return tx.Tx.PutRun(r)
}

// breakable makes the rig's store faulty; it works at first.
func (r *rig) breakable() *faulty {
	f := &faulty{Durable: r.plain}
	r.store = f
	return f
}

func (f *faulty) fail(fails func(n int64) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n.Store(0)
	f.fails = fails
}

func (f *faulty) Update(ctx context.Context, fn func(store.Tx) error) error {
	f.mu.Lock()
	fails := f.fails
	f.mu.Unlock()
	if fails != nil && fails(f.n.Add(1)) {
		return fmt.Errorf("update: %w", errFull)
	}
	return f.Durable.Update(ctx, func(tx store.Tx) error { return fn(&faultyTx{tx, f}) })
}
