package module

import (
	"context"
	"fmt"

	"github.com/parley-wasm/parley/host/store"
)

// trial is the time after a swap in which the active version may be found bad. Until
// it is over, the version before stays loaded.
type trial struct {
	previous        *Version // takes over again then
	enclosing       *trial   // of the version before, if that was not over
	steps, failures int      // still to come: the trial ends with the one, and fails with the other
	all             int      // failures that it takes
	reason          string   // why it has failed; the rollback is under way
}

// newTrial is the trial of a version that takes over from before while that one's own
// was as running says, or over. A version that has failed is not gone back to.
func newTrial(p *Policy, previous *Version, current *trial) *trial {
	if p.TrialFailures == 0 {
		return nil
	}
	t := &trial{previous: previous, steps: p.TrialSteps, failures: p.TrialFailures, all: p.TrialFailures}
	switch {
	case current == nil:
	case current.reason != "":
		t.previous, t.enclosing = current.previous, current.enclosing
	default:
		inner := *current
		inner.enclosing = nil // what is older than that is not kept
		t.enclosing = &inner
	}
	return t
}

// judge counts a step of the active version that is on trial.
func (r *Registry) countStep(v *Version, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.trial
	if t == nil || v != r.active || t.reason != "" || r.closed {
		return
	}
	t.steps--
	if pluginFault(err) {
		t.failures--
	}
	switch {
	case t.failures == 0:
		t.reason = fmt.Sprintf("%s failed in %d steps soon after it took over, the last time: %v", v, t.all, err)
		r.background.Go(func() { r.rollBack(v, t.reason) })
	case t.steps == 0:
		r.trial = nil // what was kept for it is closed by the next Tidy
	}
}

// rollBack makes the version before active again, unless a swap has done away with
// the bad one meanwhile, and parks the flows whose states the bad one wrote: what it
// wrote is not to be trusted. Steps under way in it may still write some; who
// commits them asks Distrusted.
func (r *Registry) rollBack(bad *Version, reason string) {
	r.swapping.Lock()
	ctx := context.Background()
	r.mu.Lock()
	r.distrusted[bad.digest] = reason
	var good *Version
	if r.active == bad && r.trial != nil {
		good = r.trial.previous
		r.trial = r.trial.enclosing
		r.activate(good)
	}
	now := r.active
	r.mu.Unlock()
	log := r.options.Logger.With("from", bad.String(), "to", now.String(), "reason", reason)
	parked, err := r.saveRollback(ctx, bad, good, reason)
	if err != nil {
		// This process goes on with the good one; a restart would begin with the bad
		// one, and find the same.
		log.Error("module: rolled back, but that could not be kept", "error", err)
	} else {
		log.Error("module: rolled back", "parked", parked)
	}
	r.swapping.Unlock()
	r.notifyChanged(now, true)
	if err := r.Tidy(ctx); err != nil {
		log.Warn("module: tidy up after a rollback", "error", err)
	}
}

// undo keeps what a rollback has changed, all of it or nothing. good is nil if
// another version is active already.
func (r *Registry) saveRollback(ctx context.Context, bad, good *Version, reason string) (parked int, err error) {
	if r.options.Store == nil {
		return 0, nil
	}
	return r.options.Park(ctx, bad.digest, "module: rolled back: "+reason, func(tx store.Tx) error {
		if good == nil {
			return nil
		}
		return tx.PutActivation(&store.Activation{
			Digest: good.digest, At: r.options.Now().UnixMilli(), Origin: store.OriginRollback, Reason: reason,
		})
	})
}
