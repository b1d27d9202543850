// Package work schedules flows, runs and deliveries, and ensures that at most one
// worker at a time can change a run or a delivery.
//
// A flow, run or delivery that is scheduled in the store (store.Tx.Schedule) is a
// piece of work. A timer queue ([TimerQueue]) receives the store's hint after the
// commit, or polls the store, and calls a handler when the work is due. A [Worker]
// claims pieces of work. Each claim raises the fencing token of the piece, and every
// write through the claim checks that token (Claim.Update), so a stale claim cannot
// write.
//
// A worker has one lease for all its claims and renews it while it has claims. The
// worker ends its claims locally before the lease expires in the store: a process
// that was stopped for longer than its lease has lost all its claims when it resumes.
// Its next claim uses a lease with another name.
//
// Steps of flows need no claim: the only effect of a step is its commit, which
// succeeds only if the flow is still at the preceding step.
package work

import (
	"errors"

	"github.com/parley-wasm/parley/host/store"
)

// ErrLost is the error of a claim that is lost: its lease has ended, or the work has
// been claimed again.
var ErrLost = errors.New("work: the claim is lost: its lease has ended, or the work was claimed again")

// QueueRun stores r as a queued run that is due immediately.
func QueueRun(tx store.Tx, r *store.Run) error {
	if err := tx.PutRun(r); err != nil {
		return err
	}
	return tx.Schedule(store.KindRun, r.ID, r.QueuedAt)
}

// QueueDelivery stores d as a pending delivery that is due immediately.
func QueueDelivery(tx store.Tx, d *store.Delivery) error {
	if err := tx.PutDelivery(d); err != nil {
		return err
	}
	return tx.Schedule(store.KindDelivery, d.ID, d.CreatedAt)
}

// WakeFlows schedules the flows that wait for r, a run that has just ended.
func WakeFlows(tx store.Tx, r *store.Run) error {
	ids, err := tx.WaitingFlows(r.ID)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := tx.Schedule(store.KindFlow, id, r.EndedAt); err != nil {
			return err
		}
	}
	return nil
}
