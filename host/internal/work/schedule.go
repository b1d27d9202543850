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

// Backoff returns the delay before the next try after the given number of consecutive
// failures: 50 ms, doubled with each failure, at most 30 s.
func Backoff(failures int) time.Duration {
	if failures > 10 {
		return lastBackoff
	}
	return min(firstBackoff<<max(failures-1, 0), lastBackoff)
}

// schedule is the schedule of a timer queue: a heap of the pieces of work that wait
// for their due time, and the pieces that are being handled. It is not safe for
// concurrent use.
type schedule struct {
	entries map[string]*entry
	waiting Heap[*entry] // the piece that is due first is on top
}

// entry is one piece of work. It is in the heap unless it is being handled.
type entry struct {
	Position
	id          string
	at          int64 // scheduled time in milliseconds
	handling    bool
	rescheduled bool      // scheduled again, for at, while it was being handled
	failures    int       // consecutive failures of the handler
	after       time.Time // the end of the backoff; zero: no backoff
}

func newSchedule() schedule { return schedule{entries: map[string]*entry{}} }

// due returns the time from which the piece may be handled.
func (e *entry) due() time.Time {
	if t := time.UnixMilli(e.at); t.After(e.after) {
		return t
	}
	return e.after
}

// Before reports whether the piece is due before another one.
func (e *entry) Before(other *entry) bool { return e.due().Before(other.due()) }

// set schedules a piece for the given time.
func (s *schedule) set(id string, at int64) {
	e := s.entries[id]
	switch {
	case e == nil:
		e = &entry{id: id, at: at}
		s.entries[id] = e
		heap.Push(&s.waiting, e)
	case e.handling:
		e.at, e.rescheduled = at, true
	default:
		e.at = at
		heap.Fix(&s.waiting, e.Index)
	}
}

// replace sets the schedule to due. The pieces in newer and the pieces that are being
// handled keep their entries.
func (s *schedule) replace(due []store.Due, newer map[string]struct{}) {
	kept := make(map[string]*entry, len(due))
	for id, e := range s.entries {
		if _, ok := newer[id]; ok || e.handling {
			kept[id] = e
		}
	}
	for _, d := range due {
		if _, ok := newer[d.ID]; ok || kept[d.ID] != nil {
			continue
		}
		e := s.entries[d.ID]
		if e == nil {
			e = &entry{id: d.ID}
		}
		e.at = d.At
		kept[d.ID] = e
	}
	s.entries, s.waiting = kept, make(Heap[*entry], 0, len(kept))
	for _, e := range kept {
		if !e.handling {
			e.Index = len(s.waiting)
			s.waiting = append(s.waiting, e)
		}
	}
	heap.Init(&s.waiting)
}

// first returns the piece that is due first, or nil.
func (s *schedule) first() *entry {
	if len(s.waiting) == 0 {
		return nil
	}
	return s.waiting[0]
}

// begin marks the entry as being handled.
func (s *schedule) begin(e *entry) {
	heap.Remove(&s.waiting, e.Index)
	e.handling, e.rescheduled = true, false
}

// done ends the handling of an entry. An entry that was scheduled again stays.
func (s *schedule) done(e *entry) {
	e.handling, e.failures, e.after = false, 0, time.Time{}
	if e.rescheduled {
		heap.Push(&s.waiting, e)
		return
	}
	delete(s.entries, e.id)
}

// failed schedules an entry again after a failure, with a backoff.
func (s *schedule) failed(e *entry, now time.Time) {
	e.handling = false
	e.failures++
	e.after = now.Add(Backoff(e.failures))
	heap.Push(&s.waiting, e)
}
