package instance

import (
	"math"
	"sync"
	"time"

	"github.com/tetratelabs/wazero/api"
)

// alarm ends a guest whose time is over, by taking its reserve of fuel: that is the
// only thing it looks at while it computes.
type deadlineTimer struct {
	reserve api.MutableGlobal

	mu       sync.Mutex
	timer    *time.Timer
	deadline time.Time // of the running call; zero: none is running
	fired    bool
}

const (
	// The guest reads its reserve and writes it back, and may do so around a ring. So
	// the alarm rings again and again.
	firePeriod = time.Millisecond
	// empty stays below zero whatever the guest subtracts from it.
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

// stop reports whether the alarm has rung since it was set.
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
	// A ring can come so late that it was meant for the call before.
	if a.deadline.IsZero() || time.Now().Before(a.deadline) {
		return
	}
	a.fired = true
	a.reserve.Set(uint64(exhausted & math.MaxUint64))
	a.timer.Reset(firePeriod)
}
