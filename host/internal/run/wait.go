package run

import (
	"context"
	"fmt"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

// Wait returns the run when it has ended. It fails with abi.NotFound when there is
// none.
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

// Abort kills a run for a reason that its caller reads, and returns it as it
// ended. A queued run ends at once; of one that is executed the agent's context
// ends, and whatever it answers does not count. It fails with abi.NotFound, and
// with abi.Conflict when the run has ended already, which stays as it is.
//
// A manager that has not been started kills too, and executes nothing else: of a
// run whose host has died it ends what is left of the agent.
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
		return tx.Schedule(store.KindRun, id, m.millis()) // whoever executes it hears of that
	})
	if err != nil {
		return nil, err
	}
	if queued {
		m.watch.Tell(id)
		m.forget(id)
	} else {
		m.abort(row)
	}
	return m.Wait(ctx, id)
}

// errEnded is the failure of an abort that comes too late.
func errEnded(r *store.Run) error {
	how := r.Status
	if r.Error != "" {
		how += ": " + r.Error
	}
	return abi.NewError(abi.Conflict, fmt.Sprintf("run %s has ended already, as %s", r.ID, how))
}

// abort acts on an abort that is stored: it ends the attempt that is made here,
// or takes the run ahead to its end. A manager that has not been started knows of
// no runs, and so learns of this one.
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
		m.hasten(t)
	}
}

// hasten brings an aborted run whose turn it is in its lane to its end, for which
// it needs no slot. m.mu is held.
func (m *Manager) hasten(t *ticket) {
	if m.phase > open || t.state != ready && t.state != suspended {
		return
	}
	m.lanes.activate(t)
	m.executing.Go(func() { m.execute(t) })
}

// forget takes a run that has ended out of the queue.
func (m *Manager) forget(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.lanes.tickets[id]; t != nil && t.state != active {
		m.lanes.remove(t)
		m.dispatch()
	}
}
