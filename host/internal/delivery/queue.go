package delivery

import (
	"cmp"
	"slices"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/policy"
)

// destination is a channel and recipient. Deliveries to one destination are ordered.
// Deliveries without a target have the zero destination.
type destination struct{ channel, to string }

func destinationOf(t abi.Target) destination { return destination{t.Channel, t.To} }

// resolve returns the target of a session, or zero if s is nil or has no target.
func resolve(s *abi.Session) abi.Target {
	if s == nil {
		return abi.Target{}
	}
	t, _ := policy.Target(s)
	return t
}

// queue holds the pending deliveries to one destination. A goroutine processes it until
// it is empty. Outbox.mu guards the fields of queues and of their pending deliveries,
// with the exceptions noted below.
type queue struct {
	destination destination
	waiting     []*pending // by time of creation
}

// pending is a delivery in a queue.
type pending struct {
	id      string
	created int64
	tried   bool // attempted in this round
	again   bool // scheduled again while in the queue
	posted  bool // posted, but not yet recorded; used by the queue's goroutine only
	stuck   int  // consecutive failures of the store; used by the queue's goroutine only
}

func (p *pending) compare(other *pending) int {
	return cmp.Or(cmp.Compare(p.created, other.created), cmp.Compare(p.id, other.id))
}

// queued reports whether the delivery is in a queue, and if so marks it as scheduled
// again.
func (b *Outbox) queued(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.pending[id]
	if p != nil {
		p.again = true
	}
	return p != nil
}

// enter adds deliveries to their queues, before any of them is attempted. It creates
// missing queues.
func (b *Outbox) enter(all ...arrival) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range all {
		q := b.queues[a.destination]
		if q == nil {
			q = &queue{destination: a.destination}
			b.queues[a.destination] = q
			b.running.Go(func() { b.work(q) })
		}
		a.delivery.tried = false
		b.pending[a.delivery.id] = a.delivery
		i, _ := slices.BinarySearchFunc(q.waiting, a.delivery, (*pending).compare)
		q.waiting = slices.Insert(q.waiting, i, a.delivery)
	}
}

// work processes a queue, round by round, until it is empty.
func (b *Outbox) work(q *queue) {
	for !b.closeIfEmpty(q) {
		if !b.pause(b.round(q)) {
			return
		}
	}
}

// maxFailures is the number of failures after which a round ends.
const maxFailures = 4

// round attempts each delivery of a queue once, and returns the pause before the next
// round.
func (b *Outbox) round(q *queue) time.Duration {
	var rest time.Duration
	failures := 0
	for p := b.next(q); p != nil; p = b.next(q) {
		r := b.attempt(q.destination, p)
		b.settle(q, p, r)
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
	for _, p := range q.waiting {
		p.tried = false
	}
	return rest
}

// next returns the oldest delivery that was not attempted in this round, or nil.
func (b *Outbox) next(q *queue) *pending {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range q.waiting {
		if !p.tried {
			p.tried, p.again = true, false
			return p
		}
	}
	return nil
}

// settle applies the result of an attempt to the queue. A delivery that was scheduled
// again during the attempt stays in the queue, because the attempt may have missed the
// change.
func (b *Outbox) settle(q *queue, p *pending, r result) {
	b.mu.Lock()
	again := !r.stays && r.moves == nil && p.again
	if again {
		p.tried = false
	} else if !r.stays {
		q.waiting = slices.DeleteFunc(q.waiting, func(o *pending) bool { return o == p })
		delete(b.pending, p.id)
	}
	b.mu.Unlock()
	if r.moves != nil {
		b.enter(arrival{*r.moves, p})
	}
}

func (b *Outbox) closeIfEmpty(q *queue) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(q.waiting) > 0 {
		return false
	}
	delete(b.queues, q.destination)
	return true
}

// pause waits for d. It reports false when the outbox is being closed.
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
