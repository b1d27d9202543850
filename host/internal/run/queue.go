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

// unended are the statuses of runs that have not ended.
var unended = []string{abi.RunQueued, abi.RunRunning}

// firstPage is the size of the first page in a search for new runs.
const firstPage = 16

// load queues all scheduled runs.
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

// handleDue handles a scheduled run. It queues the run together with all others that
// were accepted since the last call, because the store's hints may arrive in any order
// and the runs of a session must not be reordered. If the run is executing here,
// handleDue checks whether another host has aborted it.
func (m *Manager) handleDue(ctx context.Context, id string) error {
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
		r, err := v.Run(ctx, id) // an older run that has no ticket
		m.queue(r)
		return err
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dispatch()
	return err
}

// accepted returns the runs that have not ended and were accepted after number
// m.known.
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

// queue adds a ticket for a run that has none. The caller must hold m.reading.
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

// find returns this manager's attempt at a run, or nil, and whether the run has a
// ticket here.
func (m *Manager) find(id string) (a *attempt, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.attempts[id], m.lanes.tickets[id] != nil
}

// dispatch starts the runs for which there are slots. The caller must hold m.mu.
func (m *Manager) dispatch() {
	var going []*ticket
	switch {
	case m.phase == open:
		going = m.lanes.next()
	case m.phase == draining && m.anyWaiting():
		going = m.lanes.nextOf(abi.GroupNested)
	}
	for _, t := range going {
		m.executing.Go(func() { m.execute(t) })
	}
}

// anyWaiting reports whether an active run waits in a tool. The caller must hold
// m.mu.
func (m *Manager) anyWaiting() bool {
	for _, a := range m.attempts {
		if a.waits > 0 {
			return true
		}
	}
	return false
}

// execute makes an attempt at a run that has its lane and a slot. The run may not have
// ended afterwards: another host has claimed it, the claim was lost, or the store
// failed. Then it keeps its lane and is requeued after a delay.
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
		m.endAborted(t)
	default:
		m.lanes.requeue(t)
		m.dispatch()
	}
}

// Suspend releases the slot of a run that waits in a tool. The run keeps its
// session's lane. resume takes a slot back immediately, even above the bound. If
// several calls of a run wait, the run gets its slot back when all of them have
// resumed. If the run is not executing here, Suspend does nothing.
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
