package post

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/parley-wasm/parley/host/sink"
)

// Classify marks an error as temporary or permanent by the answer's status. 408, 409,
// 425, 429 and 5xx are temporary, and retried after the time in Retry-After if the
// answer has one. 409 means that the first request with this key is still in progress.
// All other statuses that are not a success are permanent. An error with a success
// status is temporary: the answer did not come from the service.
func (a *Answer) Classify(err error) error {
	switch s := a.Status; {
	case s == http.StatusRequestTimeout, s == http.StatusConflict, s == http.StatusTooEarly, s == http.StatusTooManyRequests, s >= 500:
		return a.Later(err)
	case a.OK():
		return err
	}
	return &sink.Permanent{Err: err}
}

// Later returns err as a temporary error, with the time in Retry-After if the answer has
// one.
func (a *Answer) Later(err error) error {
	if after, ok := RetryAfter(a.Header, time.Now()); ok {
		return &sink.Later{After: after, Err: err}
	}
	return err
}

// RetryAfter parses the Retry-After header, which contains seconds or a date.
func RetryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if text == "" {
		return 0, false
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(at.Sub(now), 0), true
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, false
	}
	return Seconds(seconds)
}

// maxSeconds is the longest pause that Seconds returns, one day.
const maxSeconds = 24 * 60 * 60

// Seconds converts a service's number of seconds to a duration. It reports false for
// negative numbers and NaN.
func Seconds(s float64) (time.Duration, bool) {
	if !(s >= 0) {
		return 0, false
	}
	return time.Duration(math.Ceil(min(s, maxSeconds)*1000)) * time.Millisecond, true
}
