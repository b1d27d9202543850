// Command soak lets hosts run a million steps and looks at their memory: the Go
// host, with a store and several callers at once, and one plugin instance of the
// Extism SDK for Node, where nothing is put back between steps. It fails if the
// memory at the end is more than a tenth above that after the first tenth.
//
//	go run ./host/bench/soak [-steps N] [-only go|node]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	steps := flag.Int("steps", 1_000_000, "steps of each host, a multiple of 1,000")
	only := flag.String("only", "", "go or node; empty: both")
	flag.Parse()
	if err := run(ctx, *steps, *only); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, steps int, only string) error {
	if steps <= 0 || steps%1000 != 0 {
		return fmt.Errorf("-steps is %d; it must be a multiple of 1,000", steps)
	}
	var err error
	for _, h := range []struct {
		name, title string
		soak        func(context.Context, int, *record) error
	}{
		{"go", "the Go host, callers at once", soakGo},
		{"node", "one plugin instance in Node, Extism SDK", soakNode},
	} {
		if only != "" && only != h.name {
			continue
		}
		fmt.Printf("== %s: %d steps\n", h.title, steps)
		r := newRecord(os.Stdout)
		failed := h.soak(ctx, steps, r)
		if failed == nil {
			failed = r.judge()
		}
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", h.title, failed))
			continue
		}
		fmt.Printf("summary {\"%sSteps\":%d}\n", h.name, steps)
	}
	return err
}
