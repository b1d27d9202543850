package work

import (
	"context"
	"errors"

	"github.com/parley-wasm/parley/host/store"
)

// Claim is the right of a worker to change a piece of work. It is safe for concurrent
// use. A claim ends when Finish or GiveBack succeeds, when Close is called, when its
// worker is closed, or when it is lost.
type Claim struct {
	worker *Worker
	lease  *lease
	kind   string
	id     string
	token  int64
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// ErrEnded is returned by a claim that its holder has ended.
var ErrEnded = errors.New("work: the claim has ended")

// Context returns a context that ends with the claim. Its cause is ErrLost when the
// claim was lost.
func (c *Claim) Context() context.Context { return c.ctx }

// Err returns nil while the claim is held according to the local clock, and otherwise
// the reason why it ended. Err reads the clock itself: a process that was suspended
// past its lease gets ErrLost before any timer has fired.
func (c *Claim) Err() error {
	if c.ctx.Err() == nil && !c.worker.lost(c.lease) {
		return nil
	}
	return context.Cause(c.ctx)
}

// Update runs fn in a transaction, if the claim is the newest for its work. Otherwise
// it does not run fn, changes nothing, returns ErrLost and ends the claim. It returns
// ErrEnded if the holder has ended the claim.
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
		c.end(ErrLost)
	}
	return err
}

// Check returns ErrLost if the claim is not the newest, and ErrEnded if its holder
// has ended it. tx may be any transaction.
func (c *Claim) Check(tx store.Tx) error {
	if err := c.Err(); err != nil {
		return err
	}
	holds, err := tx.Holds(c.kind, c.id, c.lease.name, c.token)
	if err == nil && !holds {
		err = ErrLost
	}
	return err
}

// Finish runs fn like Update, unschedules the work in the same transaction, and ends
// the claim. An error other than ErrLost leaves the claim active.
func (c *Claim) Finish(ctx context.Context, fn func(store.Tx) error) error {
	return c.finalUpdate(ctx, fn, func(tx store.Tx) error { return tx.Unschedule(c.kind, c.id) })
}

// GiveBack runs fn like Update, makes the work claimable by any worker, and ends the
// claim. fn may schedule the work for another time. An error other than ErrLost leaves
// the claim active.
func (c *Claim) GiveBack(ctx context.Context, fn func(store.Tx) error) error {
	return c.finalUpdate(ctx, fn, func(tx store.Tx) error { return tx.Unclaim(c.kind, c.id, c.lease.name, c.token) })
}

func (c *Claim) finalUpdate(ctx context.Context, fn, final func(store.Tx) error) error {
	err := c.Update(ctx, func(tx store.Tx) error {
		if fn != nil {
			if err := fn(tx); err != nil {
				return err
			}
		}
		return final(tx)
	})
	if err == nil {
		c.end(ErrEnded)
	}
	return err
}

// Close ends the claim without writing. The work stays claimed until the lease
// expires or this worker claims it again.
func (c *Claim) Close() { c.end(ErrEnded) }

func (c *Claim) end(cause error) {
	c.worker.mu.Lock()
	defer c.worker.mu.Unlock()
	c.cancel(cause)
	delete(c.lease.claims, c)
	if len(c.lease.claims) == 0 {
		c.lease.stopTimers()
	}
}
