package main

import (
	"slices"
	"sync"
	"time"
)

// timeline is which build was active when. It is safe for concurrent use.
type timeline struct {
	mu    sync.Mutex
	spans []span
}

// span is the longest time for which a build may have been active: from before the
// swap to it was asked for, until the swap to the next one was answered.
type span struct {
	build       int
	from, until time.Time // until: zero while it lasts
}

// begin says that a build is about to be active.
func (t *timeline) begin(build int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spans = append(t.spans, span{build: build, from: time.Now()})
}

// end says that the last build that began is active, and no other.
func (t *timeline) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.spans) - 2; n >= 0 {
		t.spans[n].until = time.Now()
	}
}

// active reports whether a build was active at some time in between.
func (t *timeline) active(build int, from, until time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(t.spans, func(s span) bool {
		return s.build == build && s.from.Before(until) && (s.until.IsZero() || s.until.After(from))
	})
}

// swapped reports whether a swap began and ended in between.
func (t *timeline) swapped(from, until time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for n, s := range t.spans[1:] {
		if before := t.spans[n]; s.from.After(from) && !before.until.IsZero() && before.until.Before(until) {
			return true
		}
	}
	return false
}
