package main

import (
	"context"
	"slices"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/e2e"
)

// state is the state of a trial while all its processes are killed or stopped.
type state struct {
	running  int      // runs with an active attempt
	claimed  bool     // a process has claimed the delivery of the announce
	posted   bool     // the announce has arrived
	recorded bool     // the delivery has ended in the store
	rows     []string // all rows of the store
	requests int      // to the model
	arrived  int      // posts
}

func (t *trial) state(ctx context.Context) (*state, error) {
	rows, err := e2e.ReadRows(ctx, t.database())
	if err != nil {
		return nil, err
	}
	s := &state{rows: rows.Lines()}
	for _, r := range rows.Runs {
		if r.Status == abi.RunRunning {
			s.running++
		}
	}
	for _, d := range rows.Deliveries {
		s.claimed = s.claimed || d.Attempts > 0
		s.recorded = s.recorded || d.Ended()
	}
	s.requests, s.arrived = t.peers.Counts()
	s.posted = s.arrived > 0
	return s, nil
}

// changes returns the rows that are only in s or only in before.
func (s *state) changes(before *state) (lines []string) {
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

// unrecorded reports whether the announce was posted but not recorded.
func (s *state) unrecorded() bool { return s.posted && !s.recorded }

// check compares the counted posts and attempts of a trial with its state when the process
// was halted. Exactly the posts that were made but not recorded must be repeated. unaware
// means that a process was stopped for less than its lease: if it had claimed the announce,
// it cannot detect its successor, and may also post.
func (s *state) check(r *e2e.Report, drops, unaware bool) {
	minimum, maximum := 0, 0
	if s.unrecorded() {
		minimum, maximum = 1, 1
	}
	if unaware && s.claimed && !s.posted {
		maximum++
	}
	reposts := r.Counted(countReposts)
	if reposts < minimum || reposts > maximum {
		r.Fail("%d repeated posts, want %d to %d (posted %v, recorded %v)", reposts, minimum, maximum, s.posted, s.recorded)
	}
	repeats := reposts
	if drops {
		repeats = 0
	}
	if n := r.Counted(countRepeats); n != repeats {
		r.Fail("%d repeated messages, want %d", n, repeats)
	}
	if retries, ended := r.Counted(countRetries), r.Counted(countInterrupted); retries+ended != s.running {
		r.Fail("%d second attempts and %d runs that ended as interrupted, but %d runs were active", retries, ended, s.running)
	}
}
