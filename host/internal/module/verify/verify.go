// Package verify tests a module with the conformance vectors before it becomes active.
//
// The vectors run in the reference host (abi/conformance/refhost), in memory and with a
// simulated clock. No store, agent or network is involved. A module that describes only
// some of the session tools is tested with the vectors that need no other tools.
package verify

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/parley-wasm/parley/abi/conformance/vector"
	"github.com/parley-wasm/parley/host/internal/engine"
)

// Run calls an export of the module. It must be safe for concurrent use.
type Run func(ctx context.Context, export string, input []byte, h engine.HostFunctions) (output []byte, err error)

// Options configure a verification.
type Options struct {
	Level Level
	// Tools are the names of the tools that the module describes.
	Tools []string
	// MaxFailures is the number of failed vectors after which the verification stops;
	// 0: never.
	MaxFailures int
	// Progress is called after each vector, by one goroutine at a time; nil: not
	// called.
	Progress func(done, total int)
}

// workers returns how many vectors run at once. One CPU is left to the gateway.
func workers() int { return max(1, min(2, runtime.GOMAXPROCS(0)-1)) }

// Module runs the vectors of a level. The report contains the failures of the module;
// an error means that ctx ended or the vectors could not be read.
func Module(ctx context.Context, run Run, o *Options) (*Report, error) {
	set, err := load(o.Level)
	if err != nil {
		return nil, err
	}
	r := &Report{Vectors: len(set.vectors), Failures: []*Failure{}}
	var runnable []*vector.Vector
	for _, v := range set.vectors {
		if missing(v, o.Tools) {
			r.Skipped++
		} else {
			runnable = append(runnable, v)
		}
	}
	var (
		group    sync.WaitGroup
		mu       sync.Mutex
		next     int
		done     int
		failures = make([]*Failure, len(runnable))
		failed   int
	)
	take := func() (i int, more bool) {
		mu.Lock()
		defer mu.Unlock()
		if next == len(runnable) || ctx.Err() != nil || o.MaxFailures > 0 && failed >= o.MaxFailures {
			return 0, false
		}
		next++
		return next - 1, true
	}
	finish := func(i int, problems []string) {
		mu.Lock()
		defer mu.Unlock()
		if done++; len(problems) == 0 {
			r.Passed++
		} else {
			failed++
			failures[i] = &Failure{ID: runnable[i].ID, About: runnable[i].About, Problems: problems}
		}
		if o.Progress != nil {
			o.Progress(done, len(runnable))
		}
	}
	for range workers() {
		group.Go(func() {
			for i, more := take(); more; i, more = take() {
				finish(i, set.try(ctx, runnable[i], run))
			}
		})
	}
	group.Wait()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("verify: after %d of %d vectors: %w", done, len(runnable), err)
	}
	r.NotRun = len(runnable) - done
	r.Failures = slices.DeleteFunc(failures, func(f *Failure) bool { return f == nil })
	return r, nil
}
