package flow

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

// Park parks the waiting flows whose state was written by the version with this
// digest and runs fn in the same transaction. It returns the number of flows with such
// a state that have not ended, including those that were parked before.
func (m *Manager) Park(ctx context.Context, digest, reason string, fn func(store.Tx) error) (int, error) {
	var ids []string
	err := m.options.Store.Update(ctx, func(tx store.Tx) (err error) {
		if ids, err = tx.FlowsOf(digest); err != nil {
			return err
		}
		for _, id := range ids {
			f, err := tx.Flow(id)
			if err != nil {
				return err
			}
			if f.Error = reason; f.Status == store.FlowWaiting {
				if err := m.park(tx, f); err != nil {
					return err
				}
			}
		}
		return fn(tx)
	})
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		m.changed(id)
	}
	return len(ids), nil
}

// park parks a flow: no step runs until Retry.
func (m *Manager) park(tx store.Tx, f *store.Flow) error {
	f.Status, f.UpdatedAt = store.FlowParked, m.now()
	if err := tx.Unschedule(store.KindFlow, f.ID); err != nil {
		return err
	}
	return tx.PutFlow(f)
}

// Retry resumes a parked flow. It returns abi.NotFound for an unknown flow, and
// abi.Conflict when the flow is not parked.
func (m *Manager) Retry(ctx context.Context, id string) error {
	return m.change(ctx, id, func(tx store.Tx, f *store.Flow) error {
		if f.Status != store.FlowParked {
			return abi.NewError(abi.Conflict, fmt.Sprintf("flow %s is %s, not parked: there is nothing to try again", id, f.Status))
		}
		f.Status, f.Failures, f.Error = store.FlowWaiting, 0, ""
		return m.schedule(tx, f) // the flow may still have to wait
	})
}

// RetryParked resumes all parked flows.
func (m *Manager) RetryParked(ctx context.Context) (err error) {
	view, err := m.options.Store.View(ctx)
	if err != nil {
		return err
	}
	parked, err := view.Flows(ctx, &store.Filter{Statuses: []string{store.FlowParked}, Limit: math.MaxInt32})
	err = errors.Join(err, view.Close())
	for _, f := range parked {
		if again := m.Retry(ctx, f.ID); !errors.Is(again, abi.Conflict) && !errors.Is(again, abi.NotFound) {
			err = errors.Join(err, again)
		}
	}
	return err
}
