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
	id            string
	created       int64
	attempted     bool // attempted in this round
	rescheduled   bool // scheduled again while in the queue
	posted        bool // posted, but not yet recorded; used by the queue's goroutine only
	storeFailures int  // consecutive failures of the store; used by the queue's goroutine only
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
		p.rescheduled = true
	}
	return p != nil
}

// enqueue adds deliveries to their queues, before any of them is attempted. It creates
// missing queues.
func (b *Outbox) enqueue(all ...queueEntry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range all {
		q := b.queues[a.destination]
		if q == nil {
			q = &queue{destination: a.destination}
			b.queues[a.destination] = q
			b.running.Go(func() { b.process(q) })
		}
		a.delivery.attempted = false
		b.pending[a.delivery.id] = a.delivery
		i, _ := slices.BinarySearchFunc(q.waiting, a.delivery, (*pending).compare)
		q.waiting = slices.Insert(q.waiting, i, a.delivery)
	}
}

// process processes a queue, round by round, until it is empty.
func (b *Outbox) process(q *queue) {
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
	var pause time.Duration
	failures := 0
	for p := b.next(q); p != nil; p = b.next(q) {
		r := b.attempt(q.destination, p)
		b.applyResult(q, p, r)
		if r.retry {
			failures++
			pause = max(pause, r.pause)
		}
		if r.endRound || failures == maxFailures {
			break
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range q.waiting {
		p.attempted = false
	}
	return pause
}

// next returns the oldest delivery that was not attempted in this round, or nil.
func (b *Outbox) next(q *queue) *pending {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range q.waiting {
		if !p.attempted {
			p.attempted, p.rescheduled = true, false
			return p
		}
	}
	return nil
}

// applyResult applies the result of an attempt to the queue. A delivery that was
// scheduled again during the attempt stays in the queue, because the attempt may have
// missed the change.
func (b *Outbox) applyResult(q *queue, p *pending, r result) {
	b.mu.Lock()
	again := !r.retry && r.moveTo == nil && p.rescheduled
	if again {
		p.attempted = false
	} else if !r.retry {
		q.waiting = slices.DeleteFunc(q.waiting, func(o *pending) bool { return o == p })
		delete(b.pending, p.id)
	}
	b.mu.Unlock()
	if r.moveTo != nil {
		b.enqueue(queueEntry{*r.moveTo, p})
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
