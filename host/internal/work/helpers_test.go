package work_test

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-wasm/parley/host/internal/work"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/sqlite"
)

// open returns a new store.
func open(t testing.TB) store.Durable {
	t.Helper()
	return openFile(t, filepath.Join(t.TempDir(), "a.db"))
}

func openFile(t testing.TB, path string) store.Durable {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, nil)
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

func newWorker(t testing.TB, s store.Durable, name string) *work.Worker {
	t.Helper()
	return openWorker(t, &work.WorkerOptions{Store: s, Name: name})
}

// newWorkerAt returns a worker whose clock for stored times is ahead by the given
// number of nanoseconds.
func newWorkerAt(t testing.TB, s store.Durable, ahead *atomic.Int64) *work.Worker {
	t.Helper()
	return openWorker(t, &work.WorkerOptions{Store: s, Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
}

func openWorker(t testing.TB, o *work.WorkerOptions) *work.Worker {
	t.Helper()
	o.Logger = slog.New(slog.DiscardHandler)
	w, err := work.NewWorker(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return w
}

func update(t testing.TB, s store.Durable, fn func(store.Tx) error) {
	t.Helper()
	if err := s.Update(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

// schedule stores a pending delivery that is due after a delay.
func schedule(t testing.TB, s store.Durable, id string, after time.Duration) {
	t.Helper()
	at := time.Now().Add(after).UnixMilli()
	update(t, s, func(tx store.Tx) error {
		if err := tx.PutDelivery(&store.Delivery{ID: id, SessionKey: "agent:main:main", Text: "x", Status: store.DeliveryPending, CreatedAt: at}); err != nil {
			return err
		}
		return tx.Schedule(store.KindDelivery, id, at)
	})
}

// increment returns an update that increments the delivery's counter of attempts.
func increment(id string) func(store.Tx) error {
	return func(tx store.Tx) error {
		d, err := tx.Delivery(id)
		if err != nil {
			return err
		}
		d.Attempts++
		return tx.PutDelivery(d)
	}
}

// counter returns the delivery's counter of attempts.
func counter(t testing.TB, s store.Durable, id string) int {
	t.Helper()
	v, err := s.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	d, err := v.Delivery(t.Context(), id)
	if err != nil || d == nil {
		t.Fatalf("%v, %v", d, err)
	}
	return d.Attempts
}

func claim(t testing.TB, w *work.Worker, id string) *work.Claim {
	t.Helper()
	c, err := w.Claim(t.Context(), store.KindDelivery, id, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var errFull = errors.New("the disk is full")

// observedStore counts updates and records the names of leases. It can fail or delay
// updates and drop hints.
type observedStore struct {
	store.Durable
	fails     atomic.Bool
	dropHints atomic.Bool
	before    atomic.Int64 // delay before each update
	after     atomic.Int64 // delay after each commit
	updates   atomic.Int64

	mu     sync.Mutex
	leases map[string]bool
}

func observe(s store.Durable) *observedStore {
	return &observedStore{Durable: s, leases: map[string]bool{}}
}

func (s *observedStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	s.updates.Add(1)
	if s.fails.Load() {
		return errFull
	}
	time.Sleep(time.Duration(s.before.Load()))
	defer time.Sleep(time.Duration(s.after.Load()))
	return s.Durable.Update(ctx, func(tx store.Tx) error { return fn(&observedTx{tx, s}) })
}

func (s *observedStore) Subscribe(fn func([]store.Due)) func() {
	return s.Durable.Subscribe(func(due []store.Due) {
		if !s.dropHints.Load() {
			fn(due)
		}
	})
}

func (s *observedStore) names() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.leases)
}

type observedTx struct {
	store.Tx
	s *observedStore
}

func (tx *observedTx) Lease(worker string, until int64) (bool, error) {
	tx.s.mu.Lock()
	tx.s.leases[worker] = true
	tx.s.mu.Unlock()
	return tx.Tx.Lease(worker, until)
}
