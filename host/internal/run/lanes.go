package run

import (
	"container/heap"

	"github.com/parley-wasm/parley/host/internal/work"
	"github.com/parley-wasm/parley/host/store"
)

// state of a ticket.
//
//	waiting ─► ready ─► active ◄─► suspended
//	             ▲                     │
//	             └─────────────────────┘ (requeue)
//
// A lane is taken from a ticket's first activity until it is removed; a slot of
// a group, while a ticket is active.
type state int

const (
	waiting   state = iota // behind others of its session
	ready                  // its turn in its lane; a slot is missing
	active                 // it has its lane and a slot
	suspended              // it has its lane, and has given the slot back
	gone
)

// ticket is a run's place in the queue.
type ticket struct {
	work.Position // in the heap of its lane or group

	id      string
	seq     int64 // order of acceptance
	session string
	group   string

	state state

	aborted  bool     // to be brought to its end alone
	failures int      // to begin or to end it, in a row
	unsaved  *unsaved // what an attempt came to that could not be stored
}

// Before reports whether the run was accepted before another one.
func (t *ticket) Before(other *ticket) bool { return t.seq < other.seq }

func ticketOf(r *store.Run) *ticket {
	return &ticket{id: r.ID, seq: r.Seq, session: r.SessionKey, group: r.Group}
}

// lanes decides which runs go next: those of one session one after the other in
// the order of their acceptance, those of a group at most so many at once, the
// oldest first. It does nothing itself and is for one goroutine at a time. Lanes
// and groups exist only while there are tickets in them.
type lanes struct {
	bound   func(group string) int // of a group; 0: none
	lanes   map[string]*lane
	groups  map[string]*group
	tickets map[string]*ticket
}

// lane is one session's queue.
type lane struct {
	owner *ticket            // once it has been active; nil: the lane is free
	head  *ticket            // of a free lane: the ready one
	rest  work.Heap[*ticket] // the oldest on top
}

// group is the runs that share slots.
type group struct {
	used  int
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

// add queues a ticket that is not known.
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

// next activates all tickets that may go, and returns them, the oldest first
// within their group.
func (l *lanes) next() []*ticket {
	var going []*ticket
	for name := range l.groups {
		going = append(going, l.nextOf(name)...)
	}
	return going
}

// nextOf is next for one group.
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
	l.tidy(name, g)
	return going
}

// activate gives a ticket that is ready or suspended a slot. It does not look at the
// bound, which next has observed before it calls. Two others call it, after which a group
// may use more slots than its bound until enough of its runs have ended or been suspended:
//
//   - Resume: a run that has waited in a tool is an agent at work, and cannot be held up.
//   - Abort: an aborted run is brought to its end, which executes no agent, and must
//     not wait for those that do.
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

// suspend gives the slot of an active ticket back. Its lane stays taken.
func (l *lanes) suspend(t *ticket) {
	t.state = suspended
	l.release(t)
}

func (l *lanes) release(t *ticket) {
	g := l.group(t)
	g.used--
	l.tidy(t.group, g)
}

// requeue lets a suspended ticket wait for a slot again. Its lane stays taken.
func (l *lanes) requeue(t *ticket) {
	t.state = ready
	heap.Push(&l.group(t).ready, t)
}

// remove forgets a ticket, wherever it is.
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
		l.tidy(t.group, g)
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

func (l *lanes) tidy(name string, g *group) {
	if g.used == 0 && len(g.ready) == 0 {
		delete(l.groups, name)
	}
}
