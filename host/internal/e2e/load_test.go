package e2e

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls, active atomic.Int64
		call := func(l *Load, client, n int) error {
			active.Add(1)
			defer active.Add(-1)
			calls.Add(1)
			return Sleep(l.Context(), 10*time.Second)
		}
		l := StartLoad(t.Context(), 3, call)
		time.Sleep(25 * time.Second)
		if err := l.Stop(); err != nil || calls.Load() != 9 || active.Load() != 0 {
			t.Errorf("%v after %d calls, %d of them active; want 9 and 0", err, calls.Load(), active.Load())
		}

		failure := errors.New("no answer")
		l = StartLoad(t.Context(), 3, func(l *Load, client, n int) error {
			if client == 1 && n == 2 {
				return failure
			}
			return Sleep(l.Context(), time.Second)
		})
		<-l.Context().Done()
		if err := l.Stop(); !errors.Is(err, failure) {
			t.Errorf("%v, want %v", err, failure)
		}
	})
}
