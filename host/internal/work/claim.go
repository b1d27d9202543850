package work

import (
	"context"
	"errors"

	"github.com/parley-wasm/parley/host/store"
)

// Claim is a piece of work that a worker has. It is safe for concurrent use. It
// ends by Finish, GiveBack or Close, with its worker, or when it is lost.
type Claim struct {
	worker *Worker
	lease  *lease
	kind   string
	id     string
	fence  int64
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// ErrEnded is what a claim refuses with that was given up.
var ErrEnded = errors.New("work: the claim has been given up")

// Context ends with the claim. Its cause is ErrLost when the claim was lost: the
// lease was not renewed in time, or somebody else has the work.
func (c *Claim) Context() context.Context { return c.ctx }

// Err returns nil while the claim is held, as far as the clock tells, and the
// cause of its end afterwards. It looks at the clock itself: a process that slept
// past its lease gets ErrLost before any timer has told it.
func (c *Claim) Err() error {
	if c.ctx.Err() == nil && !c.worker.lost(c.lease) {
		return nil
	}
	return context.Cause(c.ctx)
}

// Update runs fn in a transaction that changes nothing, and does not run fn, when
// the claim is not the newest: then it fails with ErrLost, and the claim ends. A
// claim that was given up refuses with ErrEnded.
func (c *Claim) Update(ctx context.Context, fn func(store.Tx) error) error {
	if err := c.Err(); err != nil {
		return err
	}
	stale := false
	err := c.worker.o.Store.Update(ctx, func(tx store.Tx) error {
		err := c.Check(tx)
		if stale = errors.Is(err, ErrLost); err != nil || fn == nil {
			return err
		}
		return fn(tx)
	})
	if stale && err != nil {
		c.drop(ErrLost)
	}
	return err
}

// Check fails, in whoever's transaction, with ErrLost when the claim is not the
// newest, and with ErrEnded when it was given up.
func (c *Claim) Check(tx store.Tx) error {
	if err := c.Err(); err != nil {
		return err
	}
	holds, err := tx.Holds(c.kind, c.id, c.lease.name, c.fence)
	if err == nil && !holds {
		err = ErrLost
	}
	return err
}

// Finish is an Update after which the work is done: it is unscheduled, and the
// claim ends. After an error the claim is as it was.
func (c *Claim) Finish(ctx context.Context, fn func(store.Tx) error) error {
	return c.last(ctx, fn, func(tx store.Tx) error { return tx.Unschedule(c.kind, c.id) })
}

// GiveBack is an Update after which anybody may claim the work; fn may schedule
// it for another time. The claim ends. After an error it is as it was.
func (c *Claim) GiveBack(ctx context.Context, fn func(store.Tx) error) error {
	return c.last(ctx, fn, func(tx store.Tx) error { return tx.Unclaim(c.kind, c.id, c.lease.name, c.fence) })
}

func (c *Claim) last(ctx context.Context, fn, end func(store.Tx) error) error {
	err := c.Update(ctx, func(tx store.Tx) error {
		if fn != nil {
			if err := fn(tx); err != nil {
				return err
			}
		}
		return end(tx)
	})
	if err == nil {
		c.drop(ErrEnded)
	}
	return err
}

// Close ends the claim without writing: the work stays claimed until the lease
// has ended, or until this worker claims it again.
func (c *Claim) Close() { c.drop(ErrEnded) }

func (c *Claim) drop(cause error) {
	c.worker.mu.Lock()
	defer c.worker.mu.Unlock()
	c.cancel(cause)
	delete(c.lease.claims, c)
	if len(c.lease.claims) == 0 {
		c.lease.still()
	}
}
