package work

import (
	"container/heap"
	"time"

	"github.com/parley-wasm/parley/host/store"
)

// Bounds of Backoff.
const (
	firstBackoff = 50 * time.Millisecond
	lastBackoff  = 30 * time.Second
)

// Backoff is how long to wait after so many failures in a row: 50 ms, twice as
// long each time, 30 s at most.
func Backoff(failures int) time.Duration {
	if failures > 10 {
		return lastBackoff
	}
	return min(firstBackoff<<max(failures-1, 0), lastBackoff)
}

// plan is what an agenda knows: pieces of work that wait for their time, in a
// heap, and those that are being handled. It is for one goroutine at a time.
type plan struct {
	entries map[string]*entry
	waiting Heap[*entry] // what is due first on top
}

// entry is one piece of work. It is in the heap unless it is being handled.
type entry struct {
	Position
	id       string
	at       int64 // milliseconds; while it is handled: of being scheduled again
	handling bool
	again    bool      // it was scheduled while it was handled
	failures int       // in a row
	after    time.Time // not before this, whatever at is; zero: no matter
}

func newPlan() plan { return plan{entries: map[string]*entry{}} }

// due is when the piece may be handled.
func (e *entry) due() time.Time {
	if t := time.UnixMilli(e.at); t.After(e.after) {
		return t
	}
	return e.after
}

// Before reports whether the piece is due before another one.
func (e *entry) Before(other *entry) bool { return e.due().Before(other.due()) }

// set says that a piece is scheduled for that time.
func (p *plan) set(id string, at int64) {
	e := p.entries[id]
	switch {
	case e == nil:
		e = &entry{id: id, at: at}
		p.entries[id] = e
		heap.Push(&p.waiting, e)
	case e.handling:
		e.at, e.again = at, true
	default:
		e.at = at
		heap.Fix(&p.waiting, e.Index)
	}
}

// replace makes the plan what is scheduled. The pieces in newer, and those being
// handled, stay as they are: what is handled now is looked at again next time.
func (p *plan) replace(due []store.Due, newer map[string]struct{}) {
	kept := make(map[string]*entry, len(due))
	for id, e := range p.entries {
		if _, ok := newer[id]; ok || e.handling {
			kept[id] = e
		}
	}
	for _, d := range due {
		if _, ok := newer[d.ID]; ok || kept[d.ID] != nil {
			continue
		}
		e := p.entries[d.ID]
		if e == nil {
			e = &entry{id: d.ID}
		}
		e.at = d.At
		kept[d.ID] = e
	}
	p.entries, p.waiting = kept, make(Heap[*entry], 0, len(kept))
	for _, e := range kept {
		if !e.handling {
			e.Index = len(p.waiting)
			p.waiting = append(p.waiting, e)
		}
	}
	heap.Init(&p.waiting)
}

// first returns what is due first, or nil.
func (p *plan) first() *entry {
	if len(p.waiting) == 0 {
		return nil
	}
	return p.waiting[0]
}

// begin says that the entry is being handled now.
func (p *plan) begin(e *entry) {
	heap.Remove(&p.waiting, e.Index)
	e.handling, e.again = true, false
}

// done says that it was handled.
func (p *plan) done(e *entry) {
	e.handling, e.failures, e.after = false, 0, time.Time{}
	if e.again {
		heap.Push(&p.waiting, e)
		return
	}
	delete(p.entries, e.id)
}

// failed says that it is to be handled again, after a while.
func (p *plan) failed(e *entry, now time.Time) {
	e.handling = false
	e.failures++
	e.after = now.Add(Backoff(e.failures))
	heap.Push(&p.waiting, e)
}
