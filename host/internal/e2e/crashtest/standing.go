package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/parley-wasm/parley/abi"
)

// standing is how an exchange stands while none of its processes moves.
type standing struct {
	running int      // runs whose attempt is under way
	claimed bool     // the announce was about to be posted
	posted  bool     // it has arrived
	marked  bool     // and that is recorded, or anything else that ends a delivery
	rows    []string // everything that is stored
	asked   int      // of the model
	arrived int      // posts
}

func (e *exchange) look(ctx context.Context) (s *standing, err error) {
	w, err := e.place.read(ctx)
	if err != nil {
		return nil, err
	}
	s = &standing{}
	for _, r := range w.Runs {
		if r.Status == abi.RunRunning {
			s.running++
		}
	}
	for _, d := range w.Deliveries {
		s.claimed = s.claimed || d.Attempts > 0
		s.marked = s.marked || d.Ended()
	}
	s.asked, s.arrived = e.outside.counts()
	s.posted = s.arrived > 0
	s.rows = w.lines()
	return s, nil
}

// changed returns what is stored that was not before, or is no more.
func (s *standing) changed(before *standing) (lines []string) {
	for _, l := range s.rows {
		if !slices.Contains(before.rows, l) {
			lines = append(lines, "now "+l)
		}
	}
	for _, l := range before.rows {
		if !slices.Contains(s.rows, l) {
			lines = append(lines, "before "+l)
		}
	}
	return lines
}

// between reports whether the announce was posted and that was not recorded.
func (s *standing) between() bool { return s.posted && !s.marked }

// judge compares the posts and attempts of an exchange with how it stood when it
// was disturbed. Only what was posted and not marked is posted again. A process
// that fell asleep with the claim in its hands, for so short a time that it cannot
// know what happened meanwhile, may post after its successor has.
func (s *standing) judge(t *tally, honours, unaware bool) (problems []string) {
	least, asleep := 0, 0
	if s.between() {
		least = 1
	}
	if unaware && s.claimed && !s.posted {
		asleep = 1
	}
	if t.reposts < least || t.reposts > least+asleep {
		problems = append(problems, fmt.Sprintf("posted again %d times, want %d to %d (posted %v, marked %v)", t.reposts, least, least+asleep, s.posted, s.marked))
	}
	seen := t.reposts
	if honours {
		seen = 0
	}
	if t.repeats != seen {
		problems = append(problems, fmt.Sprintf("%d messages were seen twice, want %d", t.repeats, seen))
	}
	if again := t.attempts + t.interrupted; again != s.running {
		problems = append(problems, fmt.Sprintf("%d second attempts, and %d runs interrupted for good, but %d were under way", t.attempts, t.interrupted, s.running))
	}
	return problems
}
