package work_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-wasm/parley/host/internal/work"
)

// A waiting goroutine checks its row when that row changes, and not when another row
// changes.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w work.Watch
		began := time.Now()
		var a, b atomic.Int64 // checks
		done := make(chan error)
		for id, checks := range map[string]*atomic.Int64{"a": &a, "b": &b} {
			go func() {
				done <- w.Await(t.Context(), id, func() (bool, error) { return checks.Add(1) == 3, nil })
			}()
		}
		for _, id := range []string{"a", "unwatched"} {
			synctest.Wait()
			w.Notify(id)
		}
		synctest.Wait()
		if a.Load() != 2 || b.Load() != 1 {
			t.Errorf("%d and %d checks, want 2 and 1", a.Load(), b.Load())
		}
		w.Notify("a")
		if err := <-done; err != nil || a.Load() != 3 || b.Load() != 1 || time.Now() != began {
			t.Errorf("%v, %d and %d checks", err, a.Load(), b.Load())
		}
		// b is changed by another process, which sends no notification here.
		if err := <-done; err != nil || time.Since(began) != 2*work.DefaultPoll {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

// A notification during the check is not missed.
func TestWatchNotifiedDuringCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w work.Watch
		began, n := time.Now(), 0
		err := w.Await(t.Context(), "a", func() (bool, error) {
			n++
			w.Notify("a")
			return n == 3, nil
		})
		if err != nil || time.Now() != began {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

func TestWatchErrors(t *testing.T) {
	var w work.Watch
	ctx, cancel := context.WithCancel(t.Context())
	if err := w.Await(ctx, "a", func() (bool, error) { cancel(); return false, nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("after the context ended: %v", err)
	}
	if err := w.Await(t.Context(), "a", func() (bool, error) { return false, errFull }); !errors.Is(err, errFull) {
		t.Errorf("after a failed check: %v", err)
	}
}

// Close ends current and later waits.
func TestWatchClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w work.Watch
		began, never := time.Now(), func() (bool, error) { return false, nil }
		done := make(chan error)
		go func() { done <- w.Await(t.Context(), "a", never) }()
		synctest.Wait()
		w.Close()
		if err := <-done; !errors.Is(err, work.ErrClosing) {
			t.Errorf("current wait: %v", err)
		}
		if err := w.Await(t.Context(), "b", never); !errors.Is(err, work.ErrClosing) || time.Now() != began {
			t.Errorf("later wait: %v after %s", err, time.Since(began))
		}
	})
}
