package instance

import (
	"math"
	"sync"
	"time"

	"github.com/tetratelabs/wazero/api"
)

// alarm ends a guest whose time is over, by taking its reserve of fuel: that is the
// only thing it looks at while it computes.
type alarm struct {
	reserve api.MutableGlobal

	mu    sync.Mutex
	timer *time.Timer
	until time.Time // of the running call; zero: none is running
	rang  bool
}

const (
	// The guest reads its reserve and writes it back, and may do so around a ring. So
	// the alarm rings again and again.
	again = time.Millisecond
	// empty stays below zero whatever the guest subtracts from it.
	empty = math.MinInt64 / 2
)

func (a *alarm) set(until time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.until, a.rang = until, false
	left := time.Until(until)
	if a.timer == nil {
		a.timer = time.AfterFunc(left, a.ring)
	} else {
		a.timer.Reset(left)
	}
}

// stop reports whether the alarm has rung since it was set.
func (a *alarm) stop() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.until = time.Time{}
	a.timer.Stop()
	return a.rang
}

func (a *alarm) ring() {
	a.mu.Lock()
	defer a.mu.Unlock()
	// A ring can come so late that it was meant for the call before.
	if a.until.IsZero() || time.Now().Before(a.until) {
		return
	}
	a.rang = true
	a.reserve.Set(uint64(empty & math.MaxUint64))
	a.timer.Reset(again)
}
