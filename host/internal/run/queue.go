package run

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/work"
	"github.com/parley-wasm/parley/host/store"
)

// unended are the states of runs that are still to be executed.
var unended = []string{abi.RunQueued, abi.RunRunning}

// firstPage is how many runs are asked for first when new ones are looked for.
const firstPage = 16

// load queues all runs that are work still.
func (m *Manager) load(ctx context.Context) error {
	m.reading.Lock()
	defer m.reading.Unlock()
	return m.view(ctx, func(v store.View) error {
		due, err := v.Due(ctx, store.KindRun)
		if err != nil {
			return err
		}
		for _, d := range due {
			r, err := v.Run(ctx, d.ID)
			if err != nil {
				return err
			}
			m.queue(r)
		}
		return nil
	})
}

// look is told of a run that is scheduled. It queues it, with all others that
// were accepted since it last looked: hints come in any order, and the runs of a
// session are not to. One that is executed here may have been aborted elsewhere.
func (m *Manager) look(ctx context.Context, id string) error {
	if a, known := m.find(id); a != nil {
		return m.view(ctx, func(v store.View) error {
			r, err := v.Run(ctx, id)
			if err == nil && r != nil && r.Abort != "" {
				m.abort(r)
			}
			return err
		})
	} else if known {
		return nil
	}
	m.reading.Lock()
	defer m.reading.Unlock()
	if _, known := m.find(id); known {
		return nil
	}
	err := m.view(ctx, func(v store.View) error {
		rows, err := m.accepted(ctx, v)
		if err != nil {
			return err
		}
		for _, r := range rows {
			m.queue(r)
		}
		if _, known := m.find(id); known {
			return nil
		}
		r, err := v.Run(ctx, id) // an older one, which another host had
		m.queue(r)
		return err
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dispatch()
	return err
}

// accepted returns the runs that have not ended and were accepted after what is
// known.
func (m *Manager) accepted(ctx context.Context, v store.View) ([]*store.Run, error) {
	for limit := firstPage; ; limit *= 4 {
		rows, err := v.Runs(ctx, &store.Filter{Statuses: unended, Limit: limit})
		if err != nil {
			return nil, err
		}
		if len(rows) < limit || rows[len(rows)-1].Seq <= m.known {
			return slices.DeleteFunc(rows, func(r *store.Run) bool { return r.Seq <= m.known }), nil
		}
	}
}

// queue gives a run that is not known its place. m.reading is held.
func (m *Manager) queue(r *store.Run) {
	if settled(r) {
		return
	}
	m.known = max(m.known, r.Seq)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lanes.tickets[r.ID] == nil {
		m.lanes.add(ticketOf(r))
	}
}

// find returns the attempt at a run that is made here, if one is, and whether
// the run is queued here.
func (m *Manager) find(id string) (*attempt, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.attempts[id], m.lanes.tickets[id] != nil
}

// dispatch begins what may begin. m.mu is held.
func (m *Manager) dispatch() {
	var going []*ticket
	switch {
	case m.phase == open:
		going = m.lanes.next()
	case m.phase == draining && m.waits():
		going = m.lanes.nextOf(abi.GroupNested)
	}
	for _, t := range going {
		m.executing.Go(func() { m.execute(t) })
	}
}

// waits reports whether a run under way waits for something in a tool. m.mu is
// held.
func (m *Manager) waits() bool {
	for _, a := range m.attempts {
		if a.waits > 0 {
			return true
		}
	}
	return false
}

// execute makes an attempt at a run that has its lane and a slot. When the run
// has not ended by that, because another host has it, the claim was lost or the
// store fails, it keeps its lane and comes back after a while.
func (m *Manager) execute(t *ticket) {
	ended := m.attempt(t)
	m.mu.Lock()
	defer m.mu.Unlock()
	if ended {
		m.lanes.remove(t)
	} else {
		t.failures++
		if t.state == active {
			m.lanes.suspend(t)
		}
		time.AfterFunc(min(work.Backoff(t.failures), 2*time.Second), func() { m.requeue(t) })
	}
	m.dispatch()
}

func (m *Manager) requeue(t *ticket) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case t.state != suspended || m.attempts[t.id] != nil:
	case t.aborted:
		m.hasten(t)
	default:
		m.lanes.requeue(t)
		m.dispatch()
	}
}

// Suspend gives the slot of a run back, because it waits for something in a tool;
// its session's lane stays taken. resume takes the slot back, at once, even if
// there are more runs than slots then. The run of several calls that wait has its
// slot again when all of them have resumed. Of a run that is not executed here
// there is nothing to suspend.
func (m *Manager) Suspend(runID string) (resume func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := m.attempts[runID]
	if a == nil {
		return func() {}
	}
	if a.waits++; a.waits == 1 {
		m.lanes.suspend(a.ticket)
		m.dispatch()
	}
	resumed := false
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if resumed || m.attempts[runID] != a {
			return
		}
		resumed = true
		if a.waits--; a.waits == 0 {
			m.lanes.activate(a.ticket)
		}
	}
}

// view runs fn on a snapshot.
func (m *Manager) view(ctx context.Context, fn func(store.View) error) error {
	v, err := m.o.Store.View(ctx)
	if err != nil {
		return err
	}
	return errors.Join(fn(v), v.Close())
}
