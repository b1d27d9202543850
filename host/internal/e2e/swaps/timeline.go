package main

import (
	"slices"
	"sync"
	"time"
)

// timeline records when each build was active. It is safe for concurrent use.
type timeline struct {
	mu    sync.Mutex
	spans []span
}

// span is the time in which a build may have been active: from the request to swap to the
// build until the reply to the next swap request.
type span struct {
	build       int
	from, until time.Time // until is zero while the build is active
}

// begin records the request of a swap to a build.
func (t *timeline) begin(build int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spans = append(t.spans, span{build: build, from: time.Now()})
}

// end records the reply to the latest swap request: the previous build is not active.
func (t *timeline) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.spans) - 2; n >= 0 {
		t.spans[n].until = time.Now()
	}
}

// active reports whether a build may have been active at some time between from and until.
func (t *timeline) active(build int, from, until time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(t.spans, func(s span) bool {
		return s.build == build && s.from.Before(until) && (s.until.IsZero() || s.until.After(from))
	})
}

// swapped reports whether a swap started and ended between from and until.
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
