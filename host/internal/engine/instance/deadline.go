package instance

import (
	"math"
	"sync"
	"time"

	"github.com/tetratelabs/wazero/api"
)

// deadlineTimer stops a guest at its deadline by emptying its fuel reserve. A guest
// that computes checks nothing else.
type deadlineTimer struct {
	reserve api.MutableGlobal

	mu       sync.Mutex
	timer    *time.Timer
	deadline time.Time // of the running call; zero: no call is running
	fired    bool
}

const (
	// A guest that subtracts from its reserve at the same moment may overwrite the
	// timer's value. So the timer fires repeatedly until the call ends.
	firePeriod = time.Millisecond
	// exhausted is so small that the reserve stays negative whatever the guest adds or
	// subtracts.
	exhausted = math.MinInt64 / 2
)

// set starts the timer for a call.
func (t *deadlineTimer) set(deadline time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.deadline, t.fired = deadline, false
	left := time.Until(deadline)
	if t.timer == nil {
		t.timer = time.AfterFunc(left, t.fire)
	} else {
		t.timer.Reset(left)
	}
}

// stop stops the timer and reports whether it has fired since set.
func (t *deadlineTimer) stop() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.deadline = time.Time{}
	t.timer.Stop()
	return t.fired
}

func (t *deadlineTimer) fire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	// A timer that fires late may belong to the previous call.
	if t.deadline.IsZero() || time.Now().Before(t.deadline) {
		return
	}
	t.fired = true
	t.reserve.Set(uint64(exhausted & math.MaxUint64))
	t.timer.Reset(firePeriod)
}
