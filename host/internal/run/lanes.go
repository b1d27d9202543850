package run

import (
	"container/heap"

	"github.com/parley-wasm/parley/host/internal/work"
	"github.com/parley-wasm/parley/host/store"
)

// state is the state of a ticket.
//
//	waiting ◄─► ready ─► active ◄─► suspended
//	              ▲                     │
//	              └─────────────────────┘ (requeue)
//
// A ready ticket waits again when an older one of its session is added.
// A ticket holds its lane from its first activation until it is removed, and a slot
// of its group while it is active.
type state int

const (
	waiting   state = iota // behind other tickets of its session
	ready                  // first in its lane; needs a slot
	active                 // holds its lane and a slot
	suspended              // holds its lane only
	gone                   // removed
)

// ticket is the queue entry of a run.
type ticket struct {
	work.Position // in the heap of its lane or group

	id      string
	seq     int64 // order of acceptance
	session string
	group   string

	state state

	aborted  bool     // the run is aborted: its end must still be stored
	failures int      // number of attempts that did not end the run
	unsaved  *unsaved // result of an attempt that could not be stored
}

// Before reports whether the run was accepted before another one.
func (t *ticket) Before(other *ticket) bool { return t.seq < other.seq }

func ticketOf(r *store.Run) *ticket {
	return &ticket{id: r.ID, seq: r.Seq, session: r.SessionKey, group: r.Group}
}

// lanes schedules runs: one at a time per session, in the order of acceptance, and a
// bounded number at a time per group, the oldest first. It only keeps the state; the
// caller executes the runs. It is not safe for concurrent use. A lane or group exists
// only while it has tickets.
type lanes struct {
	bound   func(group string) int // number of slots; 0: no bound
	lanes   map[string]*lane
	groups  map[string]*group
	tickets map[string]*ticket
}

// lane is one session's queue.
type lane struct {
	owner *ticket            // the ticket that holds the lane; nil: the lane is free
	head  *ticket            // the ready ticket of a free lane
	rest  work.Heap[*ticket] // waiting tickets, the oldest on top
}

// group is the set of runs that share slots.
type group struct {
	used  int                // slots in use
	ready work.Heap[*ticket] // the oldest on top
}

func newLanes(bound func(group string) int) *lanes {
	return &lanes{bound: bound, lanes: map[string]*lane{}, groups: map[string]*group{}, tickets: map[string]*ticket{}}
}

func (l *lanes) lane(t *ticket) *lane {
	q := l.lanes[t.session]
	if q == nil {
		q = &lane{}
		l.lanes[t.session] = q
	}
	return q
}

func (l *lanes) group(t *ticket) *group {
	g := l.groups[t.group]
	if g == nil {
		g = &group{}
		l.groups[t.group] = g
	}
	return g
}

// add queues a new ticket.
func (l *lanes) add(t *ticket) {
	l.tickets[t.id] = t
	q := l.lane(t)
	t.state = waiting
	heap.Push(&q.rest, t)
	l.advance(q)
}

// advance makes a free lane's oldest ticket the ready one.
func (l *lanes) advance(q *lane) {
	if q.owner != nil || len(q.rest) == 0 || q.head != nil && q.head.Before(q.rest[0]) {
		return
	}
	if last := q.head; last != nil {
		heap.Remove(&l.group(last).ready, last.Index)
		last.state = waiting
		heap.Push(&q.rest, last)
	}
	q.head = heap.Pop(&q.rest).(*ticket)
	q.head.state = ready
	heap.Push(&l.group(q.head).ready, q.head)
}

// next activates all tickets for which there is a slot and returns them, the oldest
// first within a group.
func (l *lanes) next() []*ticket {
	var going []*ticket
	for name := range l.groups {
		going = append(going, l.nextOf(name)...)
	}
	return going
}

// nextOf is like next, for one group only.
func (l *lanes) nextOf(name string) []*ticket {
	var going []*ticket
	g := l.groups[name]
	if g == nil {
		return nil
	}
	bound := l.bound(name)
	for len(g.ready) > 0 && (bound == 0 || g.used < bound) {
		t := g.ready[0]
		l.activate(t)
		going = append(going, t)
	}
	l.deleteIfEmpty(name, g)
	return going
}

// activate gives a ready or suspended ticket a slot, even above the bound. nextOf
// checks the bound before it calls activate. Two other callers do not, so a group may
// use more slots than its bound until enough of its runs have ended or been
// suspended:
//
//   - Manager.Suspend's resume function: the runner of a run that waited in a tool is
//     executing and cannot be delayed.
//   - Manager.endAborted: ending an aborted run calls no runner, and must not wait for
//     runs that do.
func (l *lanes) activate(t *ticket) {
	g := l.group(t)
	if t.state == ready {
		heap.Remove(&g.ready, t.Index)
		q := l.lane(t)
		q.head, q.owner = nil, t
	}
	t.state = active
	g.used++
}

// suspend releases the slot of an active ticket. The ticket keeps its lane.
func (l *lanes) suspend(t *ticket) {
	t.state = suspended
	l.release(t)
}

func (l *lanes) release(t *ticket) {
	g := l.group(t)
	g.used--
	l.deleteIfEmpty(t.group, g)
}

// requeue makes a suspended ticket ready again. The ticket keeps its lane.
func (l *lanes) requeue(t *ticket) {
	t.state = ready
	heap.Push(&l.group(t).ready, t)
}

// remove deletes a ticket in any state.
func (l *lanes) remove(t *ticket) {
	if t.state == gone {
		return
	}
	q := l.lane(t)
	switch t.state {
	case waiting:
		heap.Remove(&q.rest, t.Index)
	case ready:
		g := l.group(t)
		heap.Remove(&g.ready, t.Index)
		l.deleteIfEmpty(t.group, g)
	case active:
		l.release(t)
	}
	switch t {
	case q.owner:
		q.owner = nil
	case q.head:
		q.head = nil
	}
	t.state = gone
	delete(l.tickets, t.id)
	l.advance(q)
	if q.owner == nil && q.head == nil {
		delete(l.lanes, t.session)
	}
}

func (l *lanes) deleteIfEmpty(name string, g *group) {
	if g.used == 0 && len(g.ready) == 0 {
		delete(l.groups, name)
	}
}
