package instance

import (
	"math"
	"sync"
	"time"

	"github.com/tetratelabs/wazero/api"
)

// deadlineTimer stops a guest at its deadline by emptying its fuel reserve, which is
// all that a computing guest checks.
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
	// exhausted stays negative whatever the guest adds or subtracts.
	exhausted = math.MinInt64 / 2
)

func (a *deadlineTimer) set(deadline time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.deadline, a.fired = deadline, false
	left := time.Until(deadline)
	if a.timer == nil {
		a.timer = time.AfterFunc(left, a.fire)
	} else {
		a.timer.Reset(left)
	}
}

// stop reports whether the timer has fired since set.
func (a *deadlineTimer) stop() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.deadline = time.Time{}
	a.timer.Stop()
	return a.fired
}

func (a *deadlineTimer) fire() {
	a.mu.Lock()
	defer a.mu.Unlock()
	// A late timer may belong to the previous call.
	if a.deadline.IsZero() || time.Now().Before(a.deadline) {
		return
	}
	a.fired = true
	a.reserve.Set(uint64(exhausted & math.MaxUint64))
	a.timer.Reset(firePeriod)
}
