package flow

import (
	"context"
	"errors"
	"fmt"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/step"
	"github.com/parley-wasm/parley/host/store"
)

// maxFailures is the number of failures of a step, through the plugin's fault, after
// which its flow is parked.
const maxFailures = 2

// maxSteps is the number of steps after which a flow is parked; each Retry allows as
// many again. No tool needs that many. Without the limit a plugin could run for ever,
// by starting runs or by waiting for times in the past.
const maxSteps = 100

// input returns the input of the flow's next step: a call of the export with doc.
func (m *Manager) input(export string, doc []byte, f *store.Flow, s *Settings) *step.Input {
	return &step.Input{Export: export, JSON: doc, Flow: &step.Flow{
		ID: f.ID, Step: f.Step + 1, Tool: f.Tool, Caller: &f.Caller, Sessions: f.Sessions, Created: f.Created, Now: m.now(), Rules: s.Rules,
	}}
}

// resume runs the step of a flow that is due. After an error the timer queue calls it
// again later.
func (m *Manager) resume(ctx context.Context, id string) error {
	for try := 1; ; try++ {
		f, event, err := m.due(ctx, id)
		if err != nil || event == nil {
			return err
		}
		if err = m.run(ctx, f, event); err == nil {
			return nil
		}
		switch {
		case errors.Is(err, step.ErrHost) || ctx.Err() != nil:
			return err
		case errors.Is(err, abi.Conflict) && !errors.As(err, new(*pluginFault)):
			if try >= maxTries {
				return err
			}
		default:
			if err := m.recordFailure(ctx, f, err); err != nil {
				return err
			}
		}
	}
}

// due returns the flow and the event that wakes it. The event is nil when there is
// nothing to do.
func (m *Manager) due(ctx context.Context, id string) (f *store.Flow, event *abi.Event, err error) {
	view, err := m.options.Store.View(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	if f, err = view.Flow(ctx, id); err != nil || f == nil || f.Status != store.FlowWaiting {
		return f, nil, err
	}
	if f.WaitRun != "" {
		run, err := view.Run(ctx, f.WaitRun)
		if err != nil {
			return nil, nil, err
		}
		// If the run has ended and the time is over too, the run is the event.
		if run != nil && run.Ended() {
			return f, &abi.Event{Type: abi.EventRun, At: run.EndedAt, Run: run.ABI()}, nil
		}
	}
	if f.WaitUntil != 0 && f.WaitUntil <= m.now() {
		return f, &abi.Event{Type: abi.EventTime, At: f.WaitUntil}, nil
	}
	return f, nil, nil
}

// wake runs the step for an event, without a commit. It returns step.ErrHost or a
// pluginFault.
func (m *Manager) wake(ctx context.Context, f *store.Flow, event *abi.Event) (*step.Result, error) {
	v, err := m.options.Versions.UseFor(ctx, f)
	switch {
	case errors.Is(err, abi.NotFound), errors.Is(err, abi.Unsupported):
		return nil, &pluginFault{err}
	case err != nil:
		return nil, fmt.Errorf("%w: %w", step.ErrHost, err)
	}
	defer v.Release()
	s := m.options.Settings(v, f.Tool)
	in := &abi.ResumeInput{
		FlowID: f.ID, Step: f.Step + 1, Now: m.now(), AcceptedAt: f.AcceptedAt,
		State: f.State, StateVersion: f.StateVersion, Event: event, Caller: f.Caller, Config: s.Config,
	}
	result, err := m.options.Steps.Run(ctx, v, m.input(abi.ExportResume, in.AppendJSON(nil), f, s))
	if err != nil && !errors.Is(err, step.ErrHost) {
		err = &pluginFault{err}
	}
	return result, err
}

// run runs one step and commits it.
func (m *Manager) run(ctx context.Context, f *store.Flow, event *abi.Event) error {
	result, err := m.wake(ctx, f, event)
	if err != nil {
		return err
	}
	err = m.options.Store.Update(ctx, func(tx store.Tx) error {
		row, err := m.rowAt(tx, f)
		if err != nil || row == nil {
			return err
		}
		if err := checkAnswer(row, result); err != nil {
			return err
		}
		return m.advance(tx, row, result)
	})
	if err == nil {
		m.changed(f.ID)
		return nil
	}
	if errors.Is(err, abi.Conflict) || errors.As(err, new(*pluginFault)) {
		return err
	}
	return fmt.Errorf("%w: %w", step.ErrHost, err)
}

// checkAnswer returns an error if the step is the flow's last, has no result, and the
// caller has no answer yet.
func checkAnswer(f *store.Flow, result *step.Result) error {
	if result.Wait != nil || result.Result != nil || f.Answered() {
		return nil
	}
	return &pluginFault{abi.NewError(abi.Internal, "flow: the plugin returned neither a result nor a wait, and its caller has no answer")}
}

// rowAt returns the flow's row if it is still waiting at the step that was read.
// Otherwise it returns nil: the step has been committed elsewhere.
func (m *Manager) rowAt(tx store.Tx, f *store.Flow) (*store.Flow, error) {
	row, err := tx.Flow(f.ID)
	if err != nil || row == nil || row.Step != f.Step || row.Status != store.FlowWaiting {
		return nil, err
	}
	return row, nil
}

// pluginFault is an error that the plugin caused: its step failed, the step's result is
// unusable, or no version of the plugin can resume the flow.
type pluginFault struct{ error }

func (b *pluginFault) Unwrap() error { return b.error }

// advance applies the effects of a step and updates the flow's row with its result.
func (m *Manager) advance(tx store.Tx, f *store.Flow, result *step.Result) error {
	now := m.now()
	if result.Result != nil && f.Answered() {
		return &pluginFault{abi.NewError(abi.Internal, "flow: the plugin answered a second time")}
	}
	if err := result.Apply(tx); err != nil {
		return err
	}
	f.Step++
	f.UpdatedAt, f.Failures, f.Error = now, 0, ""
	f.Plugin, f.Module = result.Plugin, result.Digest
	f.Sessions, f.Created = union(f.Sessions, result.Sessions()), union(f.Created, result.Created())
	if result.Note != "" {
		f.Note = result.Note
	}
	if result.Result != nil {
		f.Answer, f.Code, f.AnsweredAt = result.Result, result.Code, now
	}
	f.Status, f.WaitRun, f.WaitUntil, f.State, f.StateVersion = store.FlowDone, "", 0, nil, 0
	w := result.Wait
	if w == nil {
		f.EndedAt = now
		if err := tx.PutFlow(f); err != nil {
			return err
		}
		return tx.Unschedule(store.KindFlow, f.ID)
	}
	f.Status, f.WaitRun, f.WaitUntil, f.State, f.StateVersion = store.FlowWaiting, w.Run, w.Until, w.State, w.StateVersion
	if f.Error = m.parkReason(f); f.Error != "" {
		return m.park(tx, f)
	}
	if err := tx.PutFlow(f); err != nil {
		return err
	}
	return m.schedule(tx, f)
}

// parkReason returns why a waiting flow must be parked, or "".
func (m *Manager) parkReason(f *store.Flow) string {
	if f.Step%maxSteps == 0 {
		return fmt.Sprintf("flow: it has taken %d steps without ending", f.Step)
	}
	return m.options.Versions.Distrusted(f.Module)
}

// schedule schedules the flow's next step. If the run that the flow waits for has
// already ended, the step is due immediately.
func (m *Manager) schedule(tx store.Tx, f *store.Flow) error {
	if f.WaitRun != "" {
		run, err := tx.Run(f.WaitRun)
		switch {
		case err != nil:
			return err
		case run == nil:
			return &pluginFault{abi.NewError(abi.Internal, fmt.Sprintf("flow: the plugin waits for the run %q, which does not exist", f.WaitRun))}
		case run.Ended():
			return tx.Schedule(store.KindFlow, f.ID, run.EndedAt)
		}
	}
	if f.WaitUntil != 0 {
		return tx.Schedule(store.KindFlow, f.ID, f.WaitUntil)
	}
	return tx.Unschedule(store.KindFlow, f.ID)
}

// recordFailure counts a step that failed through the plugin's fault, and parks the
// flow after maxFailures.
func (m *Manager) recordFailure(ctx context.Context, f *store.Flow, cause error) error {
	m.options.Logger.Error("flow: a step failed", "flow", f.ID, "tool", f.Tool, "step", f.Step+1, "error", cause)
	err := m.options.Store.Update(ctx, func(tx store.Tx) error {
		row, err := m.rowAt(tx, f)
		if err != nil || row == nil {
			return err
		}
		row.Failures, row.Error, row.UpdatedAt = row.Failures+1, cause.Error(), m.now()
		if row.Failures >= maxFailures {
			return m.park(tx, row)
		}
		return tx.PutFlow(row)
	})
	if err == nil {
		m.changed(f.ID)
	}
	return err
}

func union(known, more []string) []string {
	seen := make(map[string]bool, len(known)+len(more))
	var all []string
	for _, list := range [][]string{known, more} {
		for _, s := range list {
			if !seen[s] {
				seen[s] = true
				all = append(all, s)
			}
		}
	}
	return all
}
