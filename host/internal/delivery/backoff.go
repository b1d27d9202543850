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
	maxPause   = 5 * time.Minute
	maxLater   = time.Hour // the longest pause that a service can request
)

// pauseAfter returns the pause after an attempt: 1 s after the first, doubling up to 5
// min, minus a random part of up to a quarter, so that deliveries that failed together
// are not retried together. A pause that the service requests is a lower bound, up to
// an hour.
func pauseAfter(attempt int, later *sink.Later) time.Duration {
	pause := maxPause
	if n := max(attempt-1, 0); n < 9 {
		pause = min(firstPause<<n, maxPause)
	}
	pause -= rand.N(pause / 4)
	if later != nil {
		pause = max(pause, min(later.After, maxLater))
	}
	return pause
}

// maxError is the maximum length of an error in a row, in bytes.
const maxError = 1000

// truncateError truncates an error's text to maxError.
func truncateError(text string) string {
	if len(text) > maxError {
		text = text[:maxError] + "…"
	}
	return strings.ToValidUTF8(text, "")
}
