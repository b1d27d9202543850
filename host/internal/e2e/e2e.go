// Package e2e is the harness of the programs below it, which kill, stop, swap and
// load gateways for minutes or hours and check that no work is lost or repeated.
//
// It starts gateways in processes of their own (Process, Gateway), calls them over HTTP
// as clients do (Load, Gateway.Insist), plays the model and the channels that they talk
// to (Peers), waits until their work has ended (Drain), and reads everything that
// they have stored (Rows). A Report adds up what a program has counted and what
// was wrong. The scenarios are in the programs: crash, swaps and soak, which fail, and
// ../bench, which only measures.
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

// Main parses the flags, runs a program in a temporary folder until it returns or is
// interrupted, and prints its problems and, as one line, its counts. It exits with 1 when
// the program failed or found a problem.
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

// Report is what a program, or a part of it, has counted, and what was wrong. The zero
// value is empty. It is safe for concurrent use.
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

// Counted returns a count.
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

// Problems returns everything that was wrong.
func (r *Report) Problems() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.problems
}

// Add adds the report of a part, and puts the part's name before its problems.
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
	text, _ := json.Marshal(r.counts) // numbers by name
	return string(text)
}
