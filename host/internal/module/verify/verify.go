// Package verify tries a module on the conformance vectors, before it serves.
//
// The vectors are played in the reference host (abi/conformance/refhost), in memory and on a
// clock of its own, with the module as the guest: no store, no agent and no network
// has a part in it. A module that describes only some of the session tools is tried
// on the vectors that need no others.
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

// Run calls an export of the module. It is called by a few goroutines at once.
type Run func(ctx context.Context, export string, input []byte, h engine.HostFunctions) (output []byte, err error)

// Options say how a module is verified.
type Options struct {
	Level Level
	// Tools are the names of the tools that the module describes.
	Tools []string
	// MaxFailures ends the work when so many vectors have failed; 0: never.
	MaxFailures int
	// Progress is called after each vector, by one goroutine at a time; nil: nobody
	// wants to know.
	Progress func(done, total int)
}

// workers is how many vectors are played at once. One CPU is left to what serves
// meanwhile.
func workers() int { return max(1, min(2, runtime.GOMAXPROCS(0)-1)) }

// Module plays the vectors of a level. An error says that this could not be done:
// ctx has ended. What the module does wrong is in the report.
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
