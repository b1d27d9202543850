package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/engine"
	"github.com/parley-wasm/parley/host/internal/engine/wasmtest"
)

func TestContext(t *testing.T) {
	p := load(t, newEngine(t, nil), wasmtest.Plugin(wasmtest.Code(wasmtest.Block("12345678"), wasmtest.Get(0),
		wasmtest.Call(wasmtest.StoreHost), wasmtest.Drop, wasmtest.Forever, wasmtest.Unreachable)))
	ctx, cancel := context.WithCancel(t.Context())
	h := hostFunc(func(context.Context, string, []byte) []byte { cancel(); return nil })
	for range 2 { // the second call starts with a canceled context
		_, err := p.Run(ctx, abi.ExportCall, nil, h)
		if !errors.Is(err, engine.Canceled) || errors.Is(err, engine.Time) || !errors.Is(err, context.Canceled) ||
			!strings.Contains(err.Error(), "the caller canceled it") {
			t.Errorf("got %v, want Canceled", err)
		}
	}
}

// TestTime checks the error of a timeout, which depends on the running code (guest or
// host function) and on the deadline that passed (the step's or the caller's).
func TestTime(t *testing.T) {
	const timeout = 50 * time.Millisecond
	forever := wasmtest.Code(wasmtest.Forever, wasmtest.Unreachable)
	callsHost := wasmtest.Code(wasmtest.Block("12345678"), wasmtest.Get(0), wasmtest.Call(wasmtest.StoreHost), wasmtest.Drop, wasmtest.I32(0))
	returnsNil := func(ctx context.Context) error { <-ctx.Done(); return nil }
	returnsError := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for _, c := range []struct {
		name string
		call []byte
		host func(ctx context.Context) error
		ctx  time.Duration // 0: no deadline
		kind engine.Kind
		code abi.Code
		want string
	}{
		{"guest", forever, nil, 0, engine.Time, abi.Limit, "limit: time: "},
		{"guest, for the caller", forever, nil, timeout / 2, engine.Canceled, abi.Internal, "the caller's deadline has passed"},
		{"host function", callsHost, returnsNil, 0, engine.HostCall, abi.Internal, "store: context deadline exceeded"},
		{"host function that returns the error", callsHost, returnsError, 0, engine.HostCall, abi.Internal, "store: context deadline exceeded"},
		{"host function, for the caller", callsHost, returnsNil, timeout / 2, engine.Canceled, abi.Internal, "the caller's deadline has passed"},
		{"host function that returns the error, for the caller", callsHost, returnsError, timeout / 2, engine.Canceled, abi.Internal, "the caller's deadline has passed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := load(t, newEngine(t, &engine.Options{Limits: engine.Limits{StepTimeout: timeout, Fuel: 1 << 50}}), wasmtest.Plugin(c.call))
			ctx := t.Context()
			if c.ctx > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, c.ctx)
				defer cancel()
			}
			_, err := p.Run(ctx, abi.ExportCall, nil, hostFuncErr(c.host))
			var typed *engine.Error
			if !errors.As(err, &typed) || typed.Kind != c.kind || !errors.Is(err, c.code) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s: %s", err, c.kind, c.want)
			}
			if c.kind != engine.Time && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v does not unwrap to the context's error", err)
			}
			if n := p.Stats().Failed; n != 1 {
				t.Errorf("%d instances were discarded as failed, want 1", n)
			}
		})
	}
}

// hostFuncErr implements HostFunctions with a function that returns no reply.
type hostFuncErr func(ctx context.Context) error

func (f hostFuncErr) Call(ctx context.Context, _ string, _ []byte) ([]byte, error) {
	return nil, f(ctx)
}

// TestTimeOverAtReturn checks that a host function which returns exactly at the
// deadline counts as timed out, whichever timer fires first. In a synctest bubble, only
// sleeping advances the clock.
func TestTimeOverAtReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const timeout = time.Second
		p := load(t, newEngine(t, &engine.Options{Limits: engine.Limits{StepTimeout: timeout}}), wasmtest.Plugin(echo))
		_, err := p.Run(t.Context(), abi.ExportCall, []byte("8 bytes."), hostFuncErr(func(context.Context) error { time.Sleep(timeout); return nil }))
		if !errors.Is(err, engine.HostCall) {
			t.Errorf("got %v, want %s", err, engine.HostCall)
		}
	})
}
