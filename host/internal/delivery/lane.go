package delivery

import (
	"cmp"
	"slices"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/policy"
)

// place is what deliveries are put in order for. The zero place is that of
// deliveries without a target.
type place struct{ channel, to string }

func placeOf(t abi.Target) place { return place{t.Channel, t.To} }

// resolve returns the target of a session, which may be nil; zero: none.
func resolve(s *abi.Session) abi.Target {
	if s == nil {
		return abi.Target{}
	}
	t, _ := policy.Target(s)
	return t
}

// lane holds the pending deliveries to one place. A goroutine works it off while
// there are any. Its fields, and those of its tickets, are guarded by Outbox.mu
// but where it says otherwise.
type lane struct {
	place   place
	waiting []*ticket // by creation
}

// ticket is a delivery's place in a lane.
type ticket struct {
	id      string
	created int64
	tried   bool // in this round
	again   bool // it was scheduled while it was in the lane
	posted  bool // what is left is to record it; the lane's goroutine's own
	stuck   int  // how often the store failed in a row; the lane's goroutine's own
}

func (t *ticket) compare(other *ticket) int {
	return cmp.Or(cmp.Compare(t.created, other.created), cmp.Compare(t.id, other.id))
}

// lined reports whether the delivery is in a lane, and leaves word there that it
// was asked for.
func (b *Outbox) lined(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.tickets[id]
	if t != nil {
		t.again = true
	}
	return t != nil
}

// enter puts deliveries into their lanes, which it opens if need be, before any of
// them is tried.
func (b *Outbox) enter(all ...arrival) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range all {
		l := b.lanes[a.place]
		if l == nil {
			l = &lane{place: a.place}
			b.lanes[a.place] = l
			b.running.Go(func() { b.work(l) })
		}
		a.ticket.tried = false
		b.tickets[a.ticket.id] = a.ticket
		i, _ := slices.BinarySearchFunc(l.waiting, a.ticket, (*ticket).compare)
		l.waiting = slices.Insert(l.waiting, i, a.ticket)
	}
}

// work works a lane off, round by round, until it is empty.
func (b *Outbox) work(l *lane) {
	for !b.closeIfEmpty(l) {
		if !b.pause(b.round(l)) {
			return
		}
	}
}

// maxFailures is how many deliveries of a lane fail until its round ends.
const maxFailures = 4

// round tries each delivery of a lane once, and returns how long the lane is to
// rest.
func (b *Outbox) round(l *lane) time.Duration {
	var rest time.Duration
	failures := 0
	for t := b.next(l); t != nil; t = b.next(l) {
		r := b.attempt(l.place, t)
		b.settle(l, t, r)
		if r.stays {
			failures++
			rest = max(rest, r.rest)
		}
		if r.all || failures == maxFailures {
			break
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range l.waiting {
		t.tried = false
	}
	return rest
}

// next returns the oldest delivery that was not tried in this round, or nil.
func (b *Outbox) next(l *lane) *ticket {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range l.waiting {
		if !t.tried {
			t.tried, t.again = true, false
			return t
		}
	}
	return nil
}

// settle takes a ticket out of the lane that need not stay. One that was
// scheduled during the attempt stays: whoever did so may have come after it.
func (b *Outbox) settle(l *lane, t *ticket, r result) {
	b.mu.Lock()
	again := !r.stays && r.moves == nil && t.again
	if again {
		t.tried = false
	} else if !r.stays {
		l.waiting = slices.DeleteFunc(l.waiting, func(o *ticket) bool { return o == t })
		delete(b.tickets, t.id)
	}
	b.mu.Unlock()
	if r.moves != nil {
		b.enter(arrival{*r.moves, t})
	}
}

func (b *Outbox) closeIfEmpty(l *lane) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(l.waiting) > 0 {
		return false
	}
	delete(b.lanes, l.place)
	return true
}

// pause waits, and reports false when the outbox is being closed.
func (b *Outbox) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-b.stop:
		return false
	case <-timer.C:
	}
	select {
	case <-b.stop:
		return false
	default:
		return true
	}
}
