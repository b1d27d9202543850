package module

import (
	"context"
	"fmt"

	"github.com/parley-wasm/parley/host/store"
)

// trial observes the active version after a swap. Until the trial is completed, the
// previous version stays loaded, so that a rollback can activate it.
type trial struct {
	previous        *Version // a rollback activates it
	enclosing       *trial   // of the previous version, if it was not completed
	steps, failures int      // left until the trial is completed, or fails
	all             int      // number of failures at which it fails
	reason          string   // why it has failed, while the rollback runs
}

// newTrial returns the trial of a version that replaces previous; current is the trial
// of previous, or nil if it is completed. A rollback skips a version that has failed
// its own trial.
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
		inner.enclosing = nil // only one enclosing trial is kept
		t.enclosing = &inner
	}
	return t
}

// countStep counts a step of the active version if it is on trial.
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
		r.trial = nil // the next Tidy closes the previous version
	}
}

// rollBack makes the previous version active again, unless a swap has replaced the
// failed version meanwhile. It parks the flows whose states the failed version wrote,
// because these states are not trustworthy. Running steps may still write such states:
// the flow manager checks Distrusted before it commits.
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
		// This process uses the previous version. After a restart the failed version would
		// be active again.
		log.Error("module: rolled back, but the rollback could not be stored", "error", err)
	} else {
		log.Error("module: rolled back", "parked", parked)
	}
	r.swapping.Unlock()
	r.notifyChanged(now, true)
	if err := r.Tidy(ctx); err != nil {
		log.Warn("module: cleanup after a rollback failed", "error", err)
	}
}

// saveRollback stores the changes of a rollback in one transaction. good is nil if
// another version is already active.
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
