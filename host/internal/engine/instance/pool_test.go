package instance_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/engine/extismenv"
	"github.com/parley-wasm/parley/host/internal/engine/instance"
	"github.com/parley-wasm/parley/host/internal/engine/wasmtest"
	"github.com/parley-wasm/parley/host/wasmedit"
)

// newPool creates a pool for a plugin that traps on the input "trap".
func newPool(t *testing.T, maxIdle int) *instance.Pool {
	t.Helper()
	ctx := context.Background()
	rt := wazero.NewRuntime(ctx)
	t.Cleanup(func() { _ = rt.Close(ctx) })
	if err := extismenv.Instantiate(ctx, rt); err != nil {
		t.Fatal(err)
	}
	m, err := wasmedit.Parse(wasmtest.Plugin(wasmtest.Code(
		wasmtest.Call(wasmtest.InputLength), wasmtest.I64(4), []byte{0x51, 0x04, 0x40}, wasmtest.Unreachable, []byte{0x0b},
		wasmtest.I32(0))).Encode())
	if err != nil {
		t.Fatal(err)
	}
	instrumented, err := m.Instrument()
	if err != nil {
		t.Fatal(err)
	}
	module, err := rt.CompileModule(ctx, m.Encode())
	if err != nil {
		t.Fatal(err)
	}
	return instance.NewPool(instance.Config{
		Runtime: rt, Module: module, Instrumented: instrumented, MaxIdle: maxIdle,
		Fuel: 1 << 30, Timeout: time.Minute, MaxMemory: 1 << 20, MaxGrowth: 1 << 20,
		Env: extismenv.Options{MaxIn: 1 << 20, MaxOut: 1 << 20, MaxHostCalls: 10, MaxLogLines: 10, Logger: slog.New(slog.DiscardHandler)},
	})
}

func get(t *testing.T, p *instance.Pool) *instance.Instance {
	t.Helper()
	i, err := p.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func TestPool(t *testing.T) {
	p := newPool(t, 2)
	a, b, c := get(t, p), get(t, p), get(t, p)
	for _, i := range []*instance.Instance{a, b, c} {
		p.Put(i)
	}
	if n := p.Idle(); n != 2 {
		t.Errorf("%d instances are idle, want 2", n)
	}
	if again := get(t, p); again != b {
		t.Error("the instance used last is not used next")
	} else if _, err := again.Call(t.Context(), abi.ExportCall, []byte("trap"), nil); err == nil {
		t.Error("no trap")
	} else {
		p.Put(again)
	}
	for range 3 {
		i := get(t, p)
		if i != a {
			t.Error("the instance that trapped is used again, or the good one is not")
		}
		if _, err := i.Call(t.Context(), abi.ExportCall, nil, nil); err != nil {
			t.Error(err)
		}
		p.Put(i)
	}
	i := get(t, p)
	if _, err := i.Call(t.Context(), "other", nil, nil); err == nil {
		t.Error("a call of a missing export succeeded")
	}
	p.Put(i)
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestPoolClose(t *testing.T) {
	p := newPool(t, 2)
	i := get(t, p)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Close(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("close of a busy pool: %v", err)
	}
	if _, err := p.Get(t.Context()); !errors.Is(err, instance.ErrClosed) {
		t.Errorf("get after close: %v", err)
	}
	if _, err := i.Call(t.Context(), abi.ExportCall, nil, nil); err != nil {
		t.Errorf("the call that was running: %v", err)
	}
	p.Put(i)
	for range 2 {
		if err := p.Close(t.Context()); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}
