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

// Classify makes of an error what the answer's status says about trying again:
// 408, 409, 425, 429 and 5xx will pass, at the time of Retry-After if the answer
// has one; what else is no success is refused for good. 409 is what a service
// says to a key whose first request it is still busy with. An error on a success
// is tried again: the answer was not the service's.
func (a *Answer) Classify(err error) error {
	switch s := a.Status; {
	case s == http.StatusRequestTimeout, s == http.StatusConflict, s == http.StatusTooEarly, s == http.StatusTooManyRequests, s >= 500:
		return a.Later(err)
	case a.OK():
		return err
	}
	return &sink.Permanent{Err: err}
}

// Later is err, to be tried again when the answer says.
func (a *Answer) Later(err error) error {
	if after, ok := RetryAfter(a.Header, time.Now()); ok {
		return &sink.Later{After: after, Err: err}
	}
	return err
}

// RetryAfter reads the header of that name, which gives seconds or a date.
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

// maxSeconds bounds what is believed; more than a day is no help to anybody.
const maxSeconds = 24 * 60 * 60

// Seconds makes a duration of what a service gave as seconds, and reports whether
// it was a number that can be one.
func Seconds(s float64) (time.Duration, bool) {
	if !(s >= 0) {
		return 0, false
	}
	return time.Duration(math.Ceil(min(s, maxSeconds)*1000)) * time.Millisecond, true
}
