package flow

import (
	"context"
	"errors"
	"fmt"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/step"
	"github.com/parley-wasm/parley/host/store"
)

// errMoved ends the dropping of a flow that another step has taken further.
var errMoved = errors.New("flow: another step was quicker")

// noteDropped is the note of a flow whose plugin had no say in its end.
const noteDropped = "dropped by the operator; what it had queued goes on"

// Drop ends a flow: no further step follows. Of a flow that waits the plugin runs
// one last step, in which it answers a caller who has no answer yet; without it,
// for a parked flow or when that step fails, such a caller is told that there is
// none. Runs and deliveries that the flow has queued stay. It fails with
// abi.NotFound, and with abi.Conflict when the flow has ended.
func (m *Manager) Drop(ctx context.Context, id string) error {
	for {
		f, err := m.Get(ctx, id)
		if err != nil {
			return err
		}
		if f.Ended() {
			return abi.NewError(abi.Conflict, fmt.Sprintf("flow %s is %s already", id, f.Status))
		}
		var last *step.Result
		if f.Status == store.FlowWaiting {
			last, err = m.wake(ctx, f, &abi.Event{Type: abi.EventCancel, At: m.now()})
		}
		if err == nil {
			err = m.end(ctx, f, last)
		}
		if errors.As(err, new(*breach)) {
			m.options.Logger.Error("flow: the last step of a dropped flow failed", "flow", id, "tool", f.Tool, "step", f.Step+1, "error", err)
			err = m.end(ctx, f, nil)
		}
		if !errors.Is(err, errMoved) {
			return err
		}
	}
}

// end drops the flow, if it still stands where it was read.
func (m *Manager) end(ctx context.Context, f *store.Flow, last *step.Result) error {
	return m.change(ctx, f.ID, func(tx store.Tx, row *store.Flow) error {
		if row.Step != f.Step || row.Status != f.Status {
			return errMoved
		}
		row.Note = noteDropped
		if last != nil {
			last.Wait = nil
			if err := m.advance(tx, row, last); err != nil {
				return err
			}
		}
		row.Status, row.EndedAt, row.WaitRun, row.WaitUntil, row.State, row.StateVersion = store.FlowDropped, m.now(), "", 0, nil, 0
		return tx.Unschedule(store.KindFlow, row.ID)
	})
}
