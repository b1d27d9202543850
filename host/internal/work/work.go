// Package work is how flows, runs and deliveries get done: which piece is due
// when, who does it, and that nobody who has lost it changes anything.
//
// A piece of work is scheduled in the store (store.Tx.Schedule). An Agenda hears
// of it after the commit, or finds it when it starts, and hands it out at its
// time. A Worker claims pieces: a claim raises the fence of the piece, and every
// change of the claim's holder names it (Claim.Update), so that a stale one
// changes nothing.
//
// A worker has one lease for all its claims. It is renewed while there are
// claims, and ends them locally before it runs out: a process that was stopped
// for longer has lost everything it held, whatever it does next. Then it begins
// anew under another name.
//
// Steps of flows need no claim: they have no effect but their commit, and that
// one names the step it follows.
package work

import (
	"errors"

	"github.com/parley-wasm/parley/host/store"
)

// ErrLost is what a claim's holder gets when somebody else has the work.
var ErrLost = errors.New("work: the claim was lost to another worker")

// QueueRun makes r a queued run that is due at once.
func QueueRun(tx store.Tx, r *store.Run) error {
	if err := tx.PutRun(r); err != nil {
		return err
	}
	return tx.Schedule(store.KindRun, r.ID, r.QueuedAt)
}

// QueueDelivery makes d a pending delivery that is due at once.
func QueueDelivery(tx store.Tx, d *store.Delivery) error {
	if err := tx.PutDelivery(d); err != nil {
		return err
	}
	return tx.Schedule(store.KindDelivery, d.ID, d.CreatedAt)
}

// WakeFlows makes the flows due that wait for a run which has just ended.
func WakeFlows(tx store.Tx, r *store.Run) error {
	ids, err := tx.Waiting(r.ID)
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
