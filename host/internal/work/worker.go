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

// DefaultLease is how long a worker that says nothing keeps its claims.
const DefaultLease = 10 * time.Second

// WorkerOptions are the settings of a Worker.
type WorkerOptions struct {
	Store  store.Durable    // required
	Lease  time.Duration    // 0: DefaultLease
	Now    func() time.Time // the clock of the times that are stored; nil: time.Now
	Logger *slog.Logger     // nil: slog.Default
	Name   string           // what the names of its leases begin with; empty: "worker"
}

// Worker claims pieces of work and keeps them by renewing its lease. It is safe
// for concurrent use; who made it closes it.
//
// A lease lasts, here, a fifth shorter than the store was told, from the moment
// before it was written: whoever finds the lease ended in the store may be sure
// that this side has given up too. That is measured with the clock that nobody
// sets, so that a process that was stopped knows it at once.
//
// The clock of the stored times is another one. When it is set, or runs on while
// the machine sleeps, a lease may be over in the store alone. Then it is renewed,
// unless another worker has come for any of the work meanwhile, which the next
// heartbeat learns, and every write of a claim.
type Worker struct {
	o WorkerOptions

	mu      sync.Mutex
	lease   *lease // nil: the next claim begins one
	closed  bool
	renewal sync.WaitGroup
}

// lease is a name under which a worker holds claims, until it is lost. Its
// fields are guarded by Worker.mu.
type lease struct {
	name   string
	until  time.Time // local end; zero: not in the store yet
	claims map[*Claim]struct{}
	renew  *time.Timer // both run while there are claims, and only then
	expire *time.Timer
	over   bool
}

var errClosed = errors.New("work: the worker is closed")

// NewWorker returns a worker that holds nothing, and writes nothing until it
// claims.
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

// Claim claims a scheduled piece of work and runs fn, which may be nil, in the
// same transaction. It returns nil and no error when the piece cannot be claimed:
// it is not scheduled, or another worker that lives has it.
//
// A piece that this worker has already is claimed anew; its older claim is
// stale from then on.
func (w *Worker) Claim(ctx context.Context, kind, id string, fn func(store.Tx) error) (*Claim, error) {
	for {
		l, err := w.current()
		if err != nil {
			return nil, err
		}
		var fence int64
		began, err := w.transact(ctx, l, func(tx store.Tx, now int64) (err error) {
			fence, err = tx.Claim(kind, id, l.name, now)
			switch {
			case err != nil:
				return err
			case fence == 0:
				return errTaken // writes nothing, the lease included
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
		if c := w.keep(l, began, kind, id, fence); c != nil {
			return c, nil
		}
		// The lease ended while the claim was being written. Nobody renews it any
		// more; without this the piece would be out of reach until it ends in the
		// store too.
		err = w.o.Store.Update(ctx, func(tx store.Tx) error { return tx.Unclaim(kind, id, l.name, fence) })
		return nil, errors.Join(ErrLost, err)
	}
}

// TakeOver ends the leases of all other workers now. Only the sole owner of the
// store may do that.
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

// Close gives all claims back; their contexts end. The worker claims nothing any
// more. When the store fails, others get the work as soon as the lease has ended.
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
			if err := tx.Unclaim(c.kind, c.id, l.name, c.fence); err != nil {
				return err
			}
		}
		return nil
	})
}

var (
	errTaken = errors.New("work: not claimable")
	errOver  = errors.New("work: the lease is over")
)

// transact renews the lease and runs fn, in one transaction. began is the moment
// from which the renewed lease counts. It fails with errOver when the lease is.
func (w *Worker) transact(ctx context.Context, l *lease, fn func(tx store.Tx, now int64) error) (began time.Time, err error) {
	err = w.o.Store.Update(ctx, func(tx store.Tx) error {
		// A lease that has ended here must not be made longer there.
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
		w.lose(l, "the store says that it has ended")
	}
	return began, err
}

// current returns the lease to work under.
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
