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
		var calls, under atomic.Int64
		call := func(l *Load, client, n int) error {
			under.Add(1)
			defer under.Add(-1)
			calls.Add(1)
			return Sleep(l.Context(), 10*time.Second)
		}
		l := StartLoad(t.Context(), 3, call)
		time.Sleep(25 * time.Second)
		if err := l.Stop(); err != nil || calls.Load() != 9 || under.Load() != 0 {
			t.Errorf("%v after %d calls, %d of them under way; want 9 and none", err, calls.Load(), under.Load())
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
