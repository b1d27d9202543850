package main

import (
	"context"
	"slices"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/e2e"
)

// state is the state of an exchange while all its processes are killed or stopped.
type state struct {
	running  int      // runs whose attempt is under way
	claimed  bool     // the announce was about to be posted
	posted   bool     // it has arrived
	recorded bool     // and that is stored, or anything else that ends a delivery
	rows     []string // everything that is stored
	asked    int      // requests of the model
	arrived  int      // posts
}

func (e *exchange) state(ctx context.Context) (*state, error) {
	rows, err := e2e.ReadRows(ctx, e.database())
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
	s.asked, s.arrived = e.peers.Counts()
	s.posted = s.arrived > 0
	return s, nil
}

// changes returns the rows that exist now alone, or existed before alone.
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

// between reports whether the announce was posted and that was not recorded.
func (s *state) between() bool { return s.posted && !s.recorded }

// judge compares the counted posts and attempts of an exchange with its state when it was
// disturbed. Only what was posted and not recorded is posted again. An unaware process
// is one that was stopped with the claim of the announce, for so short a time that it
// cannot know what happened meanwhile: it may post after its successor has.
func (s *state) judge(r *e2e.Report, drops, unaware bool) {
	least, most := 0, 0
	if s.between() {
		least, most = 1, 1
	}
	if unaware && s.claimed && !s.posted {
		most++
	}
	reposts := r.Counted(countReposts)
	if reposts < least || reposts > most {
		r.Fail("posted again %d times, want %d to %d (posted %v, recorded %v)", reposts, least, most, s.posted, s.recorded)
	}
	seen := reposts
	if drops {
		seen = 0
	}
	if n := r.Counted(countRepeats); n != seen {
		r.Fail("%d messages were seen twice, want %d", n, seen)
	}
	if retries, ended := r.Counted(countRetries), r.Counted(countInterrupted); retries+ended != s.running {
		r.Fail("%d second attempts, and %d runs interrupted for good, but %d were under way", retries, ended, s.running)
	}
}
