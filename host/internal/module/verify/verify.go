// Package verify tests a module with the conformance vectors before it becomes active.
//
// The vectors run in the reference host (abi/conformance/refhost), in memory and with a
// simulated clock; the module is the guest. No store, agent or network is involved. A
// module that describes only some of the session tools is tested with the vectors that
// need no other tools.
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

// Run calls an export of the module. Several goroutines call it at once.
type Run func(ctx context.Context, export string, input []byte, h engine.HostFunctions) (output []byte, err error)

// Options configure a verification.
type Options struct {
	Level Level
	// Tools are the names of the tools that the module describes.
	Tools []string
	// MaxFailures stops the verification after this many failed vectors; 0: never.
	MaxFailures int
	// Progress is called after each vector, by one goroutine at a time; may be nil.
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
	var playable []*vector.Vector
	for _, v := range set.vectors {
		if missing(v, o.Tools) {
			r.Skipped++
		} else {
			playable = append(playable, v)
		}
	}
	var (
		group    sync.WaitGroup
		mu       sync.Mutex
		next     int
		done     int
		failures = make([]*Failure, len(playable))
		failed   int
	)
	take := func() (i int, more bool) {
		mu.Lock()
		defer mu.Unlock()
		if next == len(playable) || ctx.Err() != nil || o.MaxFailures > 0 && failed >= o.MaxFailures {
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
			failures[i] = &Failure{ID: playable[i].ID, About: playable[i].About, Problems: problems}
		}
		if o.Progress != nil {
			o.Progress(done, len(playable))
		}
	}
	for range workers() {
		group.Go(func() {
			for i, more := take(); more; i, more = take() {
				finish(i, set.try(ctx, playable[i], run))
			}
		})
	}
	group.Wait()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("verify: after %d of %d vectors: %w", done, len(playable), err)
	}
	r.NotRun = len(playable) - done
	r.Failures = slices.DeleteFunc(failures, func(f *Failure) bool { return f == nil })
	return r, nil
}
