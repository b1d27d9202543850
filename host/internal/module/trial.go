package module

import (
	"context"
	"fmt"

	"github.com/parley-wasm/parley/host/store"
)

// trial counts the steps and failures of the active version after a swap. Until the
// trial is completed, the previous version stays loaded, so that a rollback can
// activate it.
type trial struct {
	previous        *Version // a rollback activates it
	suspended       *trial   // unfinished trial of the previous version; a rollback resumes it
	steps, failures int      // how many more steps complete the trial, and how many more failures end it
	maxFailures     int      // initial value of failures
	reason          string   // why the version failed its trial; "" while the trial runs
}

// newTrial returns the trial of a version that replaces previous. current is the trial
// of previous, or nil if that trial is completed. If previous has failed its trial, a
// rollback of the new version skips previous.
func newTrial(p *Policy, previous *Version, current *trial) *trial {
	if p.TrialFailures == 0 {
		return nil
	}
	t := &trial{previous: previous, steps: p.TrialSteps, failures: p.TrialFailures, maxFailures: p.TrialFailures}
	switch {
	case current == nil:
	case current.reason != "":
		t.previous, t.suspended = current.previous, current.suspended
	default:
		suspended := *current
		suspended.suspended = nil // a trial keeps only one suspended trial
		t.suspended = &suspended
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
		t.reason = fmt.Sprintf("%s failed in %d steps soon after it took over, the last time: %v", v, t.maxFailures, err)
		r.background.Go(func() { r.rollBack(v, t.reason) })
	case t.steps == 0:
		r.trial = nil // the next Tidy closes the previous version
	}
}

// rollBack makes the previous version active again, unless a swap has replaced the
// failed version meanwhile. It parks the flows whose states the failed version wrote,
// because these states may be wrong. Running steps may still write such states, so the
// flow manager checks Distrusted before it commits a step.
func (r *Registry) rollBack(bad *Version, reason string) {
	r.versionsMu.Lock()
	ctx := context.Background()
	r.mu.Lock()
	r.distrusted[bad.digest] = reason
	var good *Version
	if r.active == bad && r.trial != nil {
		good = r.trial.previous
		r.trial = r.trial.suspended
		r.activate(good)
	}
	now := r.active
	r.mu.Unlock()
	log := r.options.Logger.With("from", bad.String(), "to", now.String(), "reason", reason)
	parked, err := r.saveRollback(ctx, bad, good, reason)
	if err != nil {
		// This process uses the previous version, but a restart would activate the
		// failed version again.
		log.Error("module: rolled back, but the rollback could not be stored", "error", err)
	} else {
		log.Error("module: rolled back", "parked", parked)
	}
	r.versionsMu.Unlock()
	r.notifyChanged(now, true)
	if err := r.Tidy(ctx); err != nil {
		log.Warn("module: cleanup after a rollback failed", "error", err)
	}
}

// saveRollback parks the flows and stores the activation in one transaction. good is
// nil if a swap has already replaced the failed version.
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
