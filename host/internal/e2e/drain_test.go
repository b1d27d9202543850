package e2e

import (
	"testing"
	"testing/synctest"
	"time"
)

// Drain waits as long as the number of open items decreases. It fails when the number has
// not decreased for stallLimit.
func TestDrain(t *testing.T) {
	for name, test := range map[string]struct {
		open   func(after time.Duration) int
		took   time.Duration
		stalls bool
	}{
		"nothing open": {open: func(time.Duration) int { return 0 }},
		"falls by one each 50 seconds": {
			open: func(after time.Duration) int { return 100 - int(after/(50*time.Second)) }, took: 5000 * time.Second,
		},
		"does not fall": {open: func(time.Duration) int { return 5 }, took: stallLimit, stalls: true},
		"falls, then rises and falls to the minimum again": {
			open:   func(after time.Duration) int { return []int{7, 5, 6, 5, 6, 5}[min(int(after/(40*time.Second)), 5)] },
			took:   40*time.Second + stallLimit,
			stalls: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				err := drain(t.Context(), func() (int, error) { return test.open(time.Since(start)), nil })
				if took := time.Since(start); (err != nil) != test.stalls || took < test.took || took > test.took+time.Second {
					t.Errorf("%v after %s, want %s", err, took, test.took)
				}
			})
		})
	}
}
