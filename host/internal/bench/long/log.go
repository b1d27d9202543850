package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// Outcomes of a stage.
const (
	passed = "passed"
	failed = "failed"
)

// entry is a line of the log: one run of a stage.
type entry struct {
	Date     string           `json:"date"`
	Revision string           `json:"revision"`
	Stage    string           `json:"stage"`
	Seed     *uint64          `json:"seed,omitempty"` // nil: the stage has no random choices
	Outcome  string           `json:"outcome"`
	Counts   map[string]int64 `json:"counts"`
	Seconds  float64          `json:"seconds"`
}

// appendTo appends an entry to the log in one write.
func appendTo(log string, e *entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// load reads the log.
func load(log string) (all []*entry, err error) {
	f, err := os.Open(log)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		e := &entry{}
		if err := json.Unmarshal(lines.Bytes(), e); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", log, n, err)
		}
		all = append(all, e)
	}
	return all, lines.Err()
}

// totals returns the totals of a revision, one line for each stage. Only runs that
// passed contribute to the counts.
func totals(all []*entry, revision string) string {
	var b strings.Builder
	for _, verb := range names() {
		runs, seconds, counts := map[string]int{}, 0.0, map[string]int64{}
		for _, e := range all {
			if e.Stage != verb || e.Revision != revision {
				continue
			}
			runs[e.Outcome]++
			seconds += e.Seconds
			for name, n := range e.Counts {
				if e.Outcome == passed {
					counts[name] += n
				}
			}
		}
		if len(runs) == 0 {
			continue
		}
		fmt.Fprintf(&b, "  %-8s %d passed, %d failed, %.0f s", verb, runs[passed], runs[failed], seconds)
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			fmt.Fprintf(&b, ", %d %s", counts[name], name)
		}
		fmt.Fprintln(&b)
	}
	return b.String()
}
