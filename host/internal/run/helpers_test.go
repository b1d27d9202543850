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

// runnerFunc is a runner in a test.
type runnerFunc func(ctx context.Context, t *runner.Turn) (*runner.Outcome, error)

func (f runnerFunc) Run(ctx context.Context, t *runner.Turn) (*runner.Outcome, error) {
	return f(ctx, t)
}

// replies returns a runner that always gives the same answer.
func replies(text string) runnerFunc {
	return func(context.Context, *runner.Turn) (*runner.Outcome, error) { return &runner.Outcome{Text: text}, nil }
}

// fixture is a store and a manager that executes its runs after start.
type fixture struct {
	*run.Manager
	t      testing.TB
	store  store.Durable // the manager's store
	plain  store.Durable // the same store without injected faults
	config *config.Config
	rn     runner.Runner
	worker *work.Worker
	o      run.Options // additional options
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

func newFixture(t testing.TB, a runner.Runner) *fixture {
	t.Helper()
	s := openStore(t)
	return &fixture{t: t, store: s, plain: s, config: config.Default(), rn: a}
}

// next returns a fixture for the next process on the same store.
func (r *fixture) next(a runner.Runner) *fixture {
	return &fixture{t: r.t, store: r.plain, plain: r.plain, config: r.config, rn: a, o: r.o}
}

// start takes over the store and starts the manager.
func (r *fixture) start() *fixture {
	r.t.Helper()
	r.takeOver()
	if err := r.Start(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	return r
}

// takeOver takes over the store without starting the manager.
func (r *fixture) takeOver() *fixture {
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
		o.Runners = func(string) (runner.Runner, error) { return r.rn, nil }
	}
	if r.Manager, err = run.New(&o); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { r.close(context.Background()) })
	return r
}

func (r *fixture) close(ctx context.Context) {
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

// kill ends the manager without writing or releasing anything, as kill -9 does.
// Unlike kill -9, it ends the contexts of the runners.
func (r *fixture) kill() {
	r.t.Helper()
	r.closed = true
	r.store.(*faultyStore).fail(func(int64) bool { return true })
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_ = r.Close(ended)
	_ = r.worker.Close(ended)
}

func (r *fixture) update(fn func(store.Tx) error) {
	r.t.Helper()
	if err := r.plain.Update(context.Background(), fn); err != nil {
		r.t.Fatal(err)
	}
}

func key(session string) string { return "agent:main:" + session }

// session stores a session.
func (r *fixture) session(name string, with ...func(*abi.Session)) {
	r.t.Helper()
	s := &abi.Session{Key: key(name), AgentID: "main", SessionID: "id-" + name, UpdatedAt: 1}
	for _, fn := range with {
		fn(s)
	}
	r.update(func(tx store.Tx) error { return tx.PutSession(s) })
}

// queue queues a run in a stored session.
func (r *fixture) queue(id, session string, with ...func(*store.Run)) {
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

// wait waits for the end of a run and returns the run.
func (r *fixture) wait(id string) *store.Run {
	r.t.Helper()
	row, err := r.Wait(context.Background(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	return row
}

// ends waits for the end of a run and checks its result.
func (r *fixture) ends(id, status, text string) *store.Run {
	r.t.Helper()
	row := r.wait(id)
	if got := row.Reply + row.Error; row.Status != status || got != text {
		r.t.Errorf("run %s ended as %s %q, want %s %q", id, row.Status, got, status, text)
	}
	return row
}

func view[T any](r *fixture, fn func(store.View) (T, error)) T {
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

func (r *fixture) row(id string) *store.Run {
	r.t.Helper()
	return view(r, func(v store.View) (*store.Run, error) { return v.Run(context.Background(), id) })
}

func (r *fixture) stored(session string) *abi.Session {
	r.t.Helper()
	return view(r, func(v store.View) (*abi.Session, error) { return v.Get(context.Background(), key(session)) })
}

// transcript returns the session's messages, oldest first, one per line.
func (r *fixture) transcript(session string) string {
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

func (r *fixture) scheduled(kind string) int {
	r.t.Helper()
	return len(view(r, func(v store.View) ([]store.Due, error) { return v.Due(context.Background(), kind) }))
}

var errFull = errors.New("the disk is full")

// faultyStore is a store whose n-th update since the last call of fail fails if
// fails(n) returns true.
type faultyStore struct {
	store.Durable
	n            atomic.Int64
	mu           sync.Mutex
	fails        func(n int64) bool
	readOnlyRuns atomic.Bool // PutRun fails
}

type faultyTx struct {
	store.Tx
	f *faultyStore
}

func (tx *faultyTx) PutRun(r *store.Run) error {
	if tx.f.readOnlyRuns.Load() {
		return errFull
	}
	return tx.Tx.PutRun(r)
}

// makeFaulty replaces the fixture's store with a faulty one, which works at first.
func (r *fixture) makeFaulty() *faultyStore {
	f := &faultyStore{Durable: r.plain}
	r.store = f
	return f
}

func (f *faultyStore) fail(fails func(n int64) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n.Store(0)
	f.fails = fails
}

func (f *faultyStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	f.mu.Lock()
	fails := f.fails
	f.mu.Unlock()
	if fails != nil && fails(f.n.Add(1)) {
		return fmt.Errorf("update: %w", errFull)
	}
	return f.Durable.Update(ctx, func(tx store.Tx) error { return fn(&faultyTx{tx, f}) })
}
