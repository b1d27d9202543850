package work

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/parley-wasm/parley/host/store"
)

// DefaultLease is how long a worker keeps its claims without a renewal.
const DefaultLease = 10 * time.Second

// WorkerOptions configures a Worker.
type WorkerOptions struct {
	Store  store.Durable    // required
	Lease  time.Duration    // 0: DefaultLease
	Now    func() time.Time // clock for stored times; nil: time.Now
	Logger *slog.Logger     // nil: slog.Default
	Name   string           // prefix of its leases' names; empty: "worker"
}

// Worker claims pieces of work and renews its lease on them. It is safe for
// concurrent use. Its creator must call Close.
//
// Locally a lease is a fifth shorter than in the store and starts just before the
// write: when another worker finds the lease expired in the store, this worker has
// already ended its claims. The local end is measured with the monotonic clock, so a
// process that was suspended detects the expiry immediately.
//
// Stored times use another clock. If that clock is set, or advances while the machine
// sleeps, a lease can be expired in the store but not locally. The worker then renews
// it, unless another worker has claimed some of the work. The next heartbeat, and
// every write through a claim, detects such a claim.
type Worker struct {
	o WorkerOptions

	mu      sync.Mutex
	lease   *lease // nil: the next claim begins one
	closed  bool
	renewal sync.WaitGroup
}

// lease is a lease under whose name a worker holds claims. Worker.mu guards its
// fields.
type lease struct {
	name   string
	until  time.Time // local end; zero: the lease is not stored yet
	claims map[*Claim]struct{}
	renew  *time.Timer // renew and expire run only while there are claims
	expire *time.Timer
	over   bool
}

var errClosed = errors.New("work: the worker is closed")

// NewWorker returns a worker without claims. It writes nothing before its first
// claim.
func NewWorker(o *WorkerOptions) (*Worker, error) {
	if o == nil || o.Store == nil {
		return nil, errors.New("work: WorkerOptions.Store is missing")
	}
	if o.Lease < 0 {
		return nil, fmt.Errorf("work: WorkerOptions.Lease is %s; it must not be negative", o.Lease)
	}
	w := &Worker{o: *o}
	if w.o.Lease == 0 {
		w.o.Lease = DefaultLease
	}
	if w.o.Now == nil {
		w.o.Now = time.Now
	}
	if w.o.Logger == nil {
		w.o.Logger = slog.Default()
	}
	if w.o.Name == "" {
		w.o.Name = "worker"
	}
	return w, nil
}

// Claim claims a scheduled piece of work and runs fn, which may be nil, in the same
// transaction. It returns nil and no error when the piece cannot be claimed: it is
// not scheduled, or another worker with a valid lease has it.
//
// If this worker already has the piece, the new claim makes the older one stale.
func (w *Worker) Claim(ctx context.Context, kind, id string, fn func(store.Tx) error) (*Claim, error) {
	for {
		l, err := w.current()
		if err != nil {
			return nil, err
		}
		var token int64
		began, err := w.transact(ctx, l, func(tx store.Tx, now int64) (err error) {
			token, err = tx.Claim(kind, id, l.name, now)
			switch {
			case err != nil:
				return err
			case token == 0:
				return errTaken // rolls back the lease's renewal too
			case fn != nil:
				return fn(tx)
			}
			return nil
		})
		switch {
		case errors.Is(err, errTaken):
			return nil, nil
		case errors.Is(err, errOver):
			continue
		case err != nil:
			return nil, err
		}
		if c := w.newClaim(l, began, kind, id, token); c != nil {
			return c, nil
		}
		// The lease ended during the write and will not be renewed. Unless the claim is
		// undone, the piece stays claimed until the lease expires in the store.
		err = w.o.Store.Update(ctx, func(tx store.Tx) error { return tx.Unclaim(kind, id, l.name, token) })
		return nil, errors.Join(ErrLost, err)
	}
}

// TakeOver ends the leases of all other workers. Only the sole owner of the store may
// call it.
func (w *Worker) TakeOver(ctx context.Context) error {
	for {
		l, err := w.current()
		if err != nil {
			return err
		}
		began, err := w.transact(ctx, l, func(tx store.Tx, _ int64) error { return tx.TakeOver(l.name) })
		if errors.Is(err, errOver) {
			continue
		}
		if err == nil {
			w.extend(l, began)
		}
		return err
	}
}

// Close releases all claims and ends their contexts. The worker accepts no further
// claims. If the store fails, the work becomes claimable when the lease expires.
func (w *Worker) Close(ctx context.Context) error {
	w.mu.Lock()
	l := w.lease
	w.lease, w.closed = nil, true
	var claims []*Claim
	if l != nil {
		claims = l.end(errClosed)
	}
	w.mu.Unlock()
	w.renewal.Wait()
	if len(claims) == 0 {
		return nil
	}
	return w.o.Store.Update(ctx, func(tx store.Tx) error {
		for _, c := range claims {
			if err := tx.Unclaim(c.kind, c.id, l.name, c.token); err != nil {
				return err
			}
		}
		return nil
	})
}

var (
	errTaken = errors.New("work: not claimable")
	errOver  = errors.New("work: the lease has ended")
)

// transact renews the lease and runs fn in one transaction. began is the start of the
// renewed lease. transact returns errOver when the lease has ended.
func (w *Worker) transact(ctx context.Context, l *lease, fn func(tx store.Tx, now int64) error) (began time.Time, err error) {
	err = w.o.Store.Update(ctx, func(tx store.Tx) error {
		// A lease that has ended locally must not be renewed in the store.
		if w.lost(l) {
			return errOver
		}
		began = time.Now()
		now := w.o.Now().UnixMilli()
		alive, err := tx.Lease(l.name, now+w.o.Lease.Milliseconds())
		switch {
		case err != nil:
			return err
		case !alive:
			return errOver
		}
		return fn(tx, now)
	})
	if errors.Is(err, errOver) {
		w.lose(l, "it has expired in the store")
	}
	return began, err
}

// current returns the lease for the next write, and begins one if necessary.
func (w *Worker) current() (*lease, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, errClosed
	}
	w.expired(w.lease)
	if w.lease == nil {
		w.lease = &lease{name: w.o.Name + "-" + strings.ToLower(rand.Text()), claims: map[*Claim]struct{}{}}
	}
	return w.lease, nil
}
