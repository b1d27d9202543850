package flow

import (
	"context"
	"errors"
	"fmt"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/step"
	"github.com/parley-wasm/parley/host/store"
)

// errAdvanced is the error of a drop when the flow's row has changed since it was read.
var errAdvanced = errors.New("flow: another step was committed first")

// noteDropped is the note of a dropped flow, unless its last step sets another note.
const noteDropped = "dropped by the operator; its queued runs and deliveries continue"

// Drop ends a flow. If the flow is waiting, the plugin first runs one last step, in
// which it can answer a caller that has no answer yet. If the flow is parked, or the
// last step fails, such a caller gets an error. Runs and deliveries that the flow has
// queued are still executed. Drop returns abi.NotFound for an unknown flow, and
// abi.Conflict when the flow has already ended.
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
		if errors.As(err, new(*pluginFault)) {
			m.options.Logger.Error("flow: the last step of a dropped flow failed", "flow", id, "tool", f.Tool, "step", f.Step+1, "error", err)
			err = m.end(ctx, f, nil)
		}
		if !errors.Is(err, errAdvanced) {
			return err
		}
	}
}

// end drops the flow, if its row still has the step and status that were read. last is
// the result of the last step, or nil.
func (m *Manager) end(ctx context.Context, f *store.Flow, last *step.Result) error {
	return m.change(ctx, f.ID, func(tx store.Tx, row *store.Flow) error {
		if row.Step != f.Step || row.Status != f.Status {
			return errAdvanced
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
