package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/engine"
	"github.com/parley-wasm/parley/host/internal/engine/wasmtest"
)

func TestConcurrentRuns(t *testing.T) {
	p := load(t, newEngine(t, &engine.Options{Limits: engine.Limits{IdleInstances: 2}}), wasmtest.Plugin(echo))
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for n := range 50 {
				input := fmt.Appendf(nil, "%04d%04d", g, n)
				out, err := p.Run(context.Background(), abi.ExportCall, input, hostFunc(func(_ context.Context, _ string, r []byte) []byte { return r }))
				if err != nil || !bytes.Equal(out, input) {
					t.Errorf("output of %s is %q, %v", input, out, err)
				}
			}
		})
	}
	wg.Wait()
}

// TestRunningCallsLimit checks that calls beyond RunningCalls wait, and that the wait
// does not count toward their timeout.
func TestRunningCallsLimit(t *testing.T) { synctest.Test(t, testRunningCallsLimit) }

// testRunningCallsLimit runs in a synctest bubble, where sleeps take no time.
func testRunningCallsLimit(t *testing.T) {
	const running, calls, each = 2, 12, time.Second
	e := newEngine(t, &engine.Options{Limits: engine.Limits{RunningCalls: running, StepTimeout: calls * each / running}})
	p := load(t, e, wasmtest.Plugin(echo))
	var current, peak atomic.Int32
	h := hostFunc(func(_ context.Context, _ string, request []byte) []byte {
		n := current.Add(1)
		for old := peak.Load(); n > old && !peak.CompareAndSwap(old, n); old = peak.Load() {
		}
		time.Sleep(each)
		current.Add(-1)
		return append([]byte(nil), request...)
	})
	var wg sync.WaitGroup
	for range calls {
		wg.Go(func() {
			if _, err := p.Run(t.Context(), abi.ExportCall, []byte("8 bytes."), h); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if peak.Load() != running {
		t.Errorf("%d calls ran at once, want %d", peak.Load(), running)
	}
}

// TestCancelWhileWaiting checks that a canceled caller stops waiting for a free slot.
func TestCancelWhileWaiting(t *testing.T) {
	p := load(t, newEngine(t, &engine.Options{Limits: engine.Limits{RunningCalls: 1}}), wasmtest.Plugin(echo))
	h := hostFunc(func(_ context.Context, _ string, request []byte) []byte {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := p.Run(ctx, abi.ExportCall, []byte("8 bytes."), nil); !errors.Is(err, engine.Canceled) || errors.Is(err, engine.Time) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a call that waits for a free slot: %v", err)
		}
		return request
	})
	if _, err := p.Run(t.Context(), abi.ExportCall, []byte("8 bytes."), h); err != nil {
		t.Error(err)
	}
}

func TestCloseWaits(t *testing.T) {
	e := newEngine(t, nil)
	p := load(t, e, wasmtest.Plugin(echo))
	inside, release := make(chan struct{}), make(chan struct{})
	result := make(chan error, 1)
	go func() {
		_, err := p.Run(context.Background(), abi.ExportCall, []byte("8 bytes."), hostFunc(func(context.Context, string, []byte) []byte {
			close(inside)
			<-release
			return []byte("late")
		}))
		result <- err
	}()
	<-inside
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.Close(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("close of a busy engine: %v", err)
	}
	if _, err := p.Run(t.Context(), abi.ExportCall, nil, nil); !errors.Is(err, engine.Closed) {
		t.Errorf("a call after close: %v", err)
	}
	if _, err := e.Load(t.Context(), wasmtest.Plugin(echo).Encode()); !errors.Is(err, engine.Closed) {
		t.Errorf("loading after close: %v", err)
	}
	close(release)
	if err := e.Close(t.Context()); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := <-result; err != nil {
		t.Errorf("the call that was running: %v", err)
	}
}
