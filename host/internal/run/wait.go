package run

import (
	"context"
	"fmt"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

// Wait blocks until the run has ended and returns it. It returns abi.NotFound if the
// run does not exist.
func (m *Manager) Wait(ctx context.Context, id string) (r *store.Run, err error) {
	err = m.watch.Await(ctx, id, func() (bool, error) {
		r, err = m.read(ctx, id)
		if err == nil && r == nil {
			err = errNotFound(id)
		}
		return err == nil && r.Ended(), err
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (m *Manager) read(ctx context.Context, id string) (r *store.Run, err error) {
	err = m.view(ctx, func(v store.View) (err error) {
		r, err = v.Run(ctx, id)
		return err
	})
	return r, err
}

// Abort aborts a run and returns the ended run. why is shown to the caller of the run.
// A queued run ends immediately. If the run is executing, Abort ends the runner's
// context, and the runner's answer is ignored. Abort returns abi.NotFound for an
// unknown run, and abi.Conflict for a run that has already ended, which it does not
// change.
//
// A manager that has not been started can abort too. If the run's host has died, Abort
// ends the processes that the run's attempt left. No other run is executed.
func (m *Manager) Abort(ctx context.Context, id, why string) (*store.Run, error) {
	if why == "" {
		why = "aborted by the operator"
	}
	var row *store.Run
	queued := false
	err := m.o.Store.Update(ctx, func(tx store.Tx) error {
		r, err := tx.Run(id)
		switch {
		case err != nil:
			return err
		case r == nil:
			return errNotFound(id)
		case r.Ended():
			return errEnded(r)
		}
		if r.Abort == "" {
			r.Abort = why
		}
		row = r
		if err := tx.PutRun(r); err != nil {
			return err
		}
		if queued = r.Status == abi.RunQueued; queued {
			return m.finish(tx, id, nil, false)
		}
		return tx.Schedule(store.KindRun, id, m.millis()) // the hint notifies the host that executes the run
	})
	if err != nil {
		return nil, err
	}
	if queued {
		m.watch.Notify(id)
		m.forget(id)
	} else {
		m.abort(row)
	}
	return m.Wait(ctx, id)
}

// errEnded returns the error of an abort that came too late.
func errEnded(r *store.Run) error {
	how := r.Status
	if r.Error != "" {
		how += ": " + r.Error
	}
	return abi.NewError(abi.Conflict, fmt.Sprintf("run %s has ended already, as %s", r.ID, how))
}

// abort executes an abort that is stored: it cancels this manager's attempt, or ends
// the run by endAborted. A manager that has not been started has queued no runs, so
// abort first queues this one.
func (m *Manager) abort(r *store.Run) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a := m.attempts[r.ID]; a != nil {
		a.aborted = true
		if a.stop != nil {
			a.stop(errAborted)
		}
		return
	}
	t := m.lanes.tickets[r.ID]
	if t == nil && m.phase == created {
		t = ticketOf(r)
		m.lanes.add(t)
	}
	if t != nil {
		t.aborted = true
		m.endAborted(t)
	}
}

// endAborted ends an aborted run if it is first in its lane, without waiting for a
// slot. The caller must hold m.mu.
func (m *Manager) endAborted(t *ticket) {
	if m.phase > open || t.state != ready && t.state != suspended {
		return
	}
	m.lanes.activate(t)
	m.executing.Go(func() { m.execute(t) })
}

// forget removes an ended run from the queue.
func (m *Manager) forget(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.lanes.tickets[id]; t != nil && t.state != active {
		m.lanes.remove(t)
		m.dispatch()
	}
}
