// Command soak runs a million steps in each of two hosts and checks their memory: the Go
// host with a store and several concurrent callers, and one plugin instance of the Extism
// SDK for Node, whose memory is not reset between steps. It compares
// the memory at the end with the memory after the first tenth of the steps, and fails if
// resident memory grew by more than a tenth or the plugin instance's memory grew at all.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/parley-wasm/parley/host/internal/e2e"
)

func main() { e2e.Main("soak", run) }

var (
	steps = flag.Int("steps", 1_000_000, "number of steps in each host, a multiple of 1,000")
	only  = flag.String("only", "", "run only this host: go or node")
)

func run(ctx context.Context, dir string, r *e2e.Report) (err error) {
	if *steps <= 0 || *steps%1000 != 0 {
		return fmt.Errorf("-steps is %d; it must be a multiple of 1,000", *steps)
	}
	for _, h := range []struct {
		name, title string
		soak        func(ctx context.Context, dir string, steps int, m *memory) error
	}{
		{"go", "the Go host, concurrent callers", soakGo},
		{"node", "one plugin instance in Node, Extism SDK", soakNode},
	} {
		if *only != "" && *only != h.name {
			continue
		}
		fmt.Printf("== %s: %d steps\n", h.title, *steps)
		m := newMemory(os.Stdout)
		failed := h.soak(ctx, dir, *steps, m)
		if failed == nil {
			failed = m.check()
		}
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", h.title, failed))
			continue
		}
		r.Count(h.name+"Steps", *steps)
	}
	return err
}
