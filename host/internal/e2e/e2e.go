// Package e2e is the harness of the programs crash, swaps and soak, and of ../bench. Its
// programs kill, stop, swap and load gateways for minutes or hours, and check that no
// work is lost or repeated and that memory does not grow.
//
// It starts gateways in separate processes (Process, Gateway), calls them over HTTP
// like clients (Load, Gateway.CallUntilAnswered), simulates their model and channels
// (Peers), waits until their work has ended (Drain), and reads all stored rows (Rows).
// A Report collects a program's counts and problems. The programs crash, swaps and soak
// fail on a problem; ../bench only measures.
package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
)

// Main parses the flags and runs a program in a temporary folder until it returns or is
// interrupted. Main prints the program's problems, and the counts in one line. It exits
// with 1 if the program failed or found a problem.
func Main(name string, program func(ctx context.Context, dir string, r *Report) error) {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r := &Report{}
	dir, err := os.MkdirTemp("", "parley-"+name+"-")
	if err == nil {
		err = errors.Join(program(ctx, dir, r), os.RemoveAll(dir))
	}
	for _, p := range r.problems {
		fmt.Println("PROBLEM", p)
	}
	if n := len(r.problems); n > 0 {
		err = errors.Join(err, fmt.Errorf("%d problems", n))
	}
	if r.counts != nil {
		r.Count("problems", len(r.problems))
		fmt.Println("summary", r.Summary())
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Report holds the counts and problems of a program or a part of it. The zero value is
// empty. Its methods are safe for concurrent use, except Summary.
type Report struct {
	mu       sync.Mutex
	counts   map[string]int
	problems []string
}

// Count adds n to a count.
func (r *Report) Count(name string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts == nil {
		r.counts = map[string]int{}
	}
	r.counts[name] += n
}

// Counted returns the count with this name.
func (r *Report) Counted(name string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts[name]
}

// Fail adds a problem.
func (r *Report) Fail(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

// Problems returns all problems.
func (r *Report) Problems() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.problems
}

// Add adds the complete report of a part, and prefixes its problems with the part's name.
func (r *Report) Add(part string, of *Report) {
	for name, n := range of.counts {
		r.Count(name, n)
	}
	for _, p := range of.problems {
		r.Fail("%s: %s", part, p)
	}
}

// Summary returns the counts as a JSON object, sorted by name.
func (r *Report) Summary() string {
	text, _ := json.Marshal(r.counts) // a map of numbers can always be encoded
	return string(text)
}
