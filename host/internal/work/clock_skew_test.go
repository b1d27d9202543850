package work_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-wasm/parley/host/internal/work"
)

// Stored times depend on the injected clock. The local end of a lease does not.
func TestInjectedClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t)
		var ahead atomic.Int64
		one, two := newWorkerAt(t, s, &ahead), newWorkerAt(t, s, &ahead)
		schedule(t, s, "d", 0)
		c := claim(t, one, "d")
		ahead.Store(int64(work.DefaultLease))
		if claim(t, two, "d") != nil {
			t.Fatal("the lease expired early")
		}
		ahead.Add(int64(time.Millisecond))
		if claim(t, two, "d") == nil {
			t.Fatal("the lease does not expire")
		}
		if c.Err() != nil {
			t.Error("the stored clock ended a lease locally")
		}
		if err := c.Update(t.Context(), increment("d")); !errors.Is(err, work.ErrLost) || counter(t, s, "d") != 0 {
			t.Errorf("Update of the lost claim: %v", err)
		}
	})
}

// If the clock is set forward, or advanced while the machine slept, a worker keeps
// its lease as long as no other worker has claimed its work.
func TestClockSetForward(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := observe(open(t))
		var ahead atomic.Int64
		w := newWorkerAt(t, s, &ahead)
		schedule(t, s, "d", 0)
		schedule(t, s, "e", 0)
		c := claim(t, w, "d")
		ahead.Store(int64(time.Hour))
		if claim(t, w, "e") == nil || s.names() != 1 {
			t.Error("the worker began another lease")
		}
		ahead.Store(int64(2 * time.Hour))
		time.Sleep(2 * work.DefaultLease)
		if err := c.Finish(t.Context(), increment("d")); err != nil || counter(t, s, "d") != 1 {
			t.Errorf("%v, done %d times", err, counter(t, s, "d"))
		}
	})
}

// If another worker has claimed one piece of a worker's work because the clock ran
// ahead, the worker loses all its claims at its next heartbeat.
func TestClockSetForwardWithTwoWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t)
		var ahead atomic.Int64
		one, two := newWorkerAt(t, s, &ahead), newWorkerAt(t, s, &ahead)
		schedule(t, s, "d", 0)
		schedule(t, s, "e", 0)
		held := []*work.Claim{claim(t, one, "d"), claim(t, one, "e")}
		ahead.Store(int64(time.Hour))
		if claim(t, two, "d") == nil {
			t.Fatal("the lease does not expire")
		}
		for _, c := range held {
			<-c.Context().Done()
			if !errors.Is(c.Err(), work.ErrLost) {
				t.Error(c.Err())
			}
		}
	})
}
