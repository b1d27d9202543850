package work_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-wasm/parley/host/internal/work"
)

// The times that are stored come from the injected clock; whether a lease has
// ended here does not.
func TestInjectedClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t)
		var ahead atomic.Int64
		one, two := newWorkerAt(t, s, &ahead), newWorkerAt(t, s, &ahead)
		schedule(t, s, "d", 0)
		c := claim(t, one, "d")
		ahead.Store(int64(work.DefaultLease))
		if claim(t, two, "d") != nil {
			t.Fatal("the lease ended early")
		}
		ahead.Add(int64(time.Millisecond))
		if claim(t, two, "d") == nil {
			t.Fatal("the lease does not end")
		}
		if c.Err() != nil {
			t.Error("the clock of the store ended a lease here")
		}
		if err := c.Update(t.Context(), done("d")); !errors.Is(err, work.ErrLost) || times(t, s, "d") != 0 {
			t.Errorf("Update of the lost claim: %v", err)
		}
	})
}

// A clock that is set forward, or that ran on while the machine slept, ends no
// lease of a worker whose work nobody has come for.
func TestClockSetForward(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := watch(open(t))
		var ahead atomic.Int64
		w := newWorkerAt(t, s, &ahead)
		schedule(t, s, "d", 0)
		schedule(t, s, "e", 0)
		c := claim(t, w, "d")
		ahead.Store(int64(time.Hour))
		if claim(t, w, "e") == nil || s.names() != 1 {
			t.Error("the worker has begun anew")
		}
		ahead.Store(int64(2 * time.Hour))
		time.Sleep(2 * work.DefaultLease)
		if err := c.Finish(t.Context(), done("d")); err != nil || times(t, s, "d") != 1 {
			t.Errorf("%v, done %d times", err, times(t, s, "d"))
		}
	})
}

// A worker of whose work another has got a piece, because the clock ran ahead,
// ends all that it does with its next heartbeat.
func TestClockSetForwardForAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t)
		var ahead atomic.Int64
		one, two := newWorkerAt(t, s, &ahead), newWorkerAt(t, s, &ahead)
		schedule(t, s, "d", 0)
		schedule(t, s, "e", 0)
		held := []*work.Claim{claim(t, one, "d"), claim(t, one, "e")}
		ahead.Store(int64(time.Hour))
		if claim(t, two, "d") == nil {
			t.Fatal("the lease does not end")
		}
		for _, c := range held {
			<-c.Context().Done()
			if !errors.Is(c.Err(), work.ErrLost) {
				t.Error(c.Err())
			}
		}
	})
}
