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

// step is one call of an export, with its recording.
type step struct {
	name      string
	target    target
	recording string                  // id; empty: exchange is set
	exchange  *recordingtest.Exchange // the last one of the recording
}

// replies returns the recorded replies without a check of the requests, so that the
// measurement covers only the plugin and its variant.
type replies struct {
	calls []recordingtest.HostCall
	next  int
}

func (r *replies) Call(string, []byte) []byte {
	reply := r.calls[r.next].Reply
	r.next++
	return reply
}

// check runs a step once and compares its host calls and output with the recording.
func check(ctx context.Context, v *variant, s *step) error {
	r := s.exchange.Replay()
	output, err := v.run(ctx, s.exchange.Export, s.exchange.Input, r)
	if err != nil {
		return fmt.Errorf("%s: %s: %w", s.name, v.name, err)
	}
	if problems := r.Finish(output); len(problems) > 0 {
		return fmt.Errorf("%s: %s: differs from the recording:\n  %s", s.name, v.name, strings.Join(problems, "\n  "))
	}
	return nil
}

// cost is the cost of one step. Times and ratios are medians over the rounds; the two times
// of a ratio are from the same round.
type cost struct {
	time     time.Duration
	vsNative float64 // time divided by the time of native Go
	vsSDK    float64 // the SDK's time divided by time
	allocs   float64
	bytes    float64
}

// roundTime is the duration of a variant's measurement in one round.
const roundTime = 25 * time.Millisecond

// measure alternates between the variants, so that external load affects all of them.
func measure(ctx context.Context, variants []variant, s *step, rounds int) ([]cost, error) {
	times := make([][]time.Duration, len(variants))
	costs := make([]cost, len(variants))
	steps := make([]int, len(variants)) // per round
	host := replies{calls: s.exchange.Calls}
	for round := -1; round < rounds; round++ {
		for _, i := range rand.Perm(len(variants)) {
			n := max(steps[i], 100) // the first round determines the number
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			begin := time.Now()
			for range n {
				host.next = 0
				if _, err := variants[i].run(ctx, s.exchange.Export, s.exchange.Input, &host); err != nil {
					return nil, fmt.Errorf("%s: %s: %w", s.name, variants[i].name, err)
				}
			}
			each := time.Since(begin) / time.Duration(n)
			runtime.ReadMemStats(&after)
			if round < 0 {
				steps[i] = int(roundTime / max(each, 1))
				continue
			}
			times[i] = append(times[i], each)
			costs[i].allocs += float64(after.Mallocs-before.Mallocs) / float64(n*rounds)
			costs[i].bytes += float64(after.TotalAlloc-before.TotalAlloc) / float64(n*rounds)
		}
	}
	for i := range costs {
		vsNative, vsSDK := make([]float64, rounds), make([]float64, rounds)
		for r := range rounds {
			vsNative[r], vsSDK[r] = ratio(times[i][r], times[nativeGo][r]), ratio(times[sdk][r], times[i][r])
		}
		costs[i].vsNative, costs[i].vsSDK = median(vsNative), median(vsSDK)
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
