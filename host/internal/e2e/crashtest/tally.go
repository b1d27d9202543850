package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// tally adds up what was found.
type tally struct {
	kills       int
	stops       int
	between     int // of both, those between a post and its record
	exchanges   int
	interrupted int            // runs that ended as interrupted, with all their attempts used
	attempts    int            // more than one
	reposts     int            // posts of a text beyond the first
	repeats     int            // messages that a reader sees beyond the first
	outcomes    map[string]int // of spawns: how the result was told
	problems    []string
}

func (t *tally) fail(format string, args ...any) {
	t.problems = append(t.problems, fmt.Sprintf(format, args...))
}

// came counts how the result of a spawn was told.
func (t *tally) came(outcome string) {
	if t.outcomes == nil {
		t.outcomes = map[string]int{}
	}
	t.outcomes[outcome]++
}

func (t *tally) add(o *tally) {
	t.kills += o.kills
	t.stops += o.stops
	t.between += o.between
	t.exchanges += o.exchanges
	t.interrupted += o.interrupted
	t.attempts += o.attempts
	t.reposts += o.reposts
	t.repeats += o.repeats
	for outcome, n := range o.outcomes {
		for range n {
			t.came(outcome)
		}
	}
	t.problems = append(t.problems, o.problems...)
}

// told lists the outcomes, each after a comma.
func (t *tally) told() string {
	var b strings.Builder
	for _, outcome := range slices.Sorted(maps.Keys(t.outcomes)) {
		fmt.Fprintf(&b, ", %d %s", t.outcomes[outcome], outcome)
	}
	return b.String()
}
