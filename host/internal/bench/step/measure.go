package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/parley-wasm/parley/abi/conformance/recordingtest"
)

// step is one call of an export, with what was recorded of it.
type step struct {
	name      string
	aim       aim
	recording string                  // its id; empty: exchange is given
	exchange  *recordingtest.Exchange // read from the recording
}

// answers gives the recorded replies and does not look at the requests, so that
// what is measured is the plugin and its way.
type answers struct {
	calls []recordingtest.HostCall
	next  int
}

func (a *answers) Call(string, []byte) []byte {
	reply := a.calls[a.next].Reply
	a.next++
	return reply
}

// check runs a step once and compares everything with the record.
func check(ctx context.Context, w *way, s *step) error {
	r := s.exchange.Replay()
	output, err := w.run(ctx, s.exchange.Export, s.exchange.Input, r)
	if err != nil {
		return fmt.Errorf("%s: %s: %w", s.name, w.name, err)
	}
	if problems := r.Finish(output); len(problems) > 0 {
		return fmt.Errorf("%s: %s: not what was recorded:\n  %s", s.name, w.name, strings.Join(problems, "\n  "))
	}
	return nil
}

// cost is what one step takes. Times and ratios are medians of the rounds; a ratio
// is of times of the same round.
type cost struct {
	time     time.Duration
	ofNative float64 // how many times the native time
	ofSDK    float64 // how many times as fast as the SDK
	allocs   float64
	bytes    float64
}

// slice is how long a way runs in one round.
const slice = 25 * time.Millisecond

// measure lets the ways run in turns, so that what disturbs one disturbs the
// others.
func measure(ctx context.Context, ways []way, s *step, rounds int) ([]cost, error) {
	times := make([][]time.Duration, len(ways))
	costs := make([]cost, len(ways))
	steps := make([]int, len(ways)) // in a round
	host := answers{calls: s.exchange.Calls}
	for round := -1; round < rounds; round++ {
		for _, i := range rand.Perm(len(ways)) {
			n := max(steps[i], 100) // the first round is for finding out
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			begin := time.Now()
			for range n {
				host.next = 0
				if _, err := ways[i].run(ctx, s.exchange.Export, s.exchange.Input, &host); err != nil {
					return nil, fmt.Errorf("%s: %s: %w", s.name, ways[i].name, err)
				}
			}
			each := time.Since(begin) / time.Duration(n)
			runtime.ReadMemStats(&after)
			if round < 0 {
				steps[i] = int(slice / max(each, 1))
				continue
			}
			times[i] = append(times[i], each)
			costs[i].allocs += float64(after.Mallocs-before.Mallocs) / float64(n*rounds)
			costs[i].bytes += float64(after.TotalAlloc-before.TotalAlloc) / float64(n*rounds)
		}
	}
	for i := range costs {
		ofNative, ofSDK := make([]float64, rounds), make([]float64, rounds)
		for r := range rounds {
			ofNative[r], ofSDK[r] = ratio(times[i][r], times[native][r]), ratio(times[sdk][r], times[i][r])
		}
		costs[i].ofNative, costs[i].ofSDK = median(ofNative), median(ofSDK)
	}
	for i := range costs {
		costs[i].time = median(times[i])
	}
	return costs, nil
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(max(b, 1)) }

func median[T cmp.Ordered](all []T) T {
	slices.Sort(all)
	return all[len(all)/2]
}
