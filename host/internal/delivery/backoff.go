package delivery

import (
	"math/rand/v2"
	"strings"
	"time"

	"github.com/parley-wasm/parley/host/sink"
)

// Bounds of the pauses between attempts.
const (
	firstPause = time.Second
	lastPause  = 5 * time.Minute
	lastLater  = time.Hour // when the other side names a time
)

// pauseAfter returns how long to wait after an attempt: 1 s after the first,
// twice as long after each, 5 min at most, and up to a quarter less by chance, so
// that what failed together is not tried together. What the other side asks for
// is waited for in any case, up to an hour.
func pauseAfter(attempt int, later *sink.Later) time.Duration {
	pause := lastPause
	if n := max(attempt-1, 0); n < 9 {
		pause = min(firstPause<<n, lastPause)
	}
	pause -= rand.N(pause / 4)
	if later != nil {
		pause = max(pause, min(later.After, lastLater))
	}
	return pause
}

// maxError is the length of the longest error that a row keeps, in bytes.
const maxError = 1000

// brief makes an error's text fit into a row.
func brief(text string) string {
	if len(text) > maxError {
		text = text[:maxError] + "…"
	}
	return strings.ToValidUTF8(text, "")
}
