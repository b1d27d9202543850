package module

import (
	"context"
	"fmt"

	"github.com/parley-wasm/parley/host/store"
)

// trial is the time after a swap in which the active version may be found bad.
type trial struct {
	before          *Version // takes over again then
	steps, failures int      // still to come: the trial ends with the one, and fails with the other
	all             int      // failures that it takes
}

func newTrial(p *Policy, before *Version) *trial {
	if p.TrialFailures == 0 {
		return nil
	}
	return &trial{before: before, steps: p.TrialSteps, failures: p.TrialFailures, all: p.TrialFailures}
}

// judge counts a step of the active version that is on trial.
func (r *Registry) judge(v *Version, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.trial
	if t == nil || v != r.active {
		return
	}
	t.steps--
	if guilty(err) {
		t.failures--
	}
	switch {
	case t.failures == 0:
		reason := fmt.Sprintf("%s failed in %d steps soon after it took over, the last time: %v", v, t.all, err)
		r.trial = nil
		r.background.Go(func() { r.rollBack(v, t.before, reason) })
	case t.steps == 0:
		r.trial = nil // what was kept for it is closed by the next Tidy
	}
}

// rollBack makes the version before active again, and parks the flows whose states
// the bad one wrote: what it wrote is not to be trusted.
func (r *Registry) rollBack(bad, good *Version, reason string) {
	r.swapping.Lock()
	defer r.swapping.Unlock()
	ctx := context.Background()
	r.mu.Lock()
	stale := r.active != bad || r.loaded[good.digest] != good
	if !stale {
		r.activate(good)
	}
	r.mu.Unlock()
	if stale {
		return
	}
	log := r.options.Logger.With("from", bad.String(), "to", good.String(), "reason", reason)
	parked, err := r.undo(ctx, bad, good, reason)
	if err != nil {
		// This process goes on with the good one; a restart would begin with the bad
		// one, and find the same.
		log.Error("module: rolled back, but that could not be kept", "error", err)
	} else {
		log.Error("module: rolled back", "parked", parked)
	}
	r.announce(good, true)
	if err := r.tidy(ctx); err != nil {
		log.Warn("module: tidy up after a rollback", "error", err)
	}
}

// undo keeps what a rollback has changed, all of it or nothing.
func (r *Registry) undo(ctx context.Context, bad, good *Version, reason string) (parked int, err error) {
	if r.options.Store == nil {
		return 0, nil
	}
	return r.options.Park(ctx, bad.digest, "module: rolled back: "+reason, func(tx store.Tx) error {
		return tx.PutActivation(&store.Activation{
			Digest: good.digest, At: r.options.Now().UnixMilli(), Origin: store.OriginRollback, Reason: reason,
		})
	})
}
