package engine_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/engine"
	"github.com/parley-wasm/parley/host/internal/engine/hostiletest"
)

const hostile = "../../../testdata/hostile"

// hostileLimits keep the attacks short.
var hostileLimits = engine.Limits{
	Fuel: 50_000_000, StepTimeout: time.Minute, MemoryMiB: 8, HostCalls: 50, InMiB: 1, OutMiB: 1, LogLines: 20, IdleInstances: 2,
}

// eachTransport runs a test once with direct memory and once with kernel calls.
func eachTransport(t *testing.T, test func(t *testing.T, kernelCalls bool)) {
	for _, kernelCalls := range []bool{false, true} {
		t.Run(map[bool]string{false: "direct memory", true: "kernel calls"}[kernelCalls], func(t *testing.T) { test(t, kernelCalls) })
	}
}

// TestHostile attacks an engine with each hostile plugin, with direct memory and with
// kernel calls. It checks that the attack ends as cases.json specifies. It also checks
// that the attacked plugin answers before the attack and between attacks, and that
// another plugin answers after it.
func TestHostile(t *testing.T) {
	eachTransport(t, func(t *testing.T, kernelCalls bool) {
		e := newEngine(t, &engine.Options{Limits: hostileLimits, KernelCallsOnly: kernelCalls, Logger: slog.New(slog.DiscardHandler)})
		bystander, err := e.Load(t.Context(), hostiletest.Wasm(t, hostile, "loop"))
		if err != nil {
			t.Fatal(err)
		}
		h := hostFunc(func(context.Context, string, []byte) []byte { return []byte(`{"ok":{}}`) })
		checkPeaceful := func(t *testing.T, p *engine.Plugin) {
			t.Helper()
			for _, export := range []string{abi.ExportCall, abi.ExportResume} {
				out, err := p.Run(t.Context(), export, []byte(`{"peaceful":true}`), h)
				if err != nil || string(out) != `{"result":{"status":"ok"}}` {
					t.Errorf("a peaceful %s got %.100q, %v", export, out, err)
				}
			}
		}
		for _, c := range hostiletest.Read(t, hostile) {
			t.Run(c.Name, func(t *testing.T) {
				want := c.Expected(kernelCalls)
				p, err := e.Load(t.Context(), c.Wasm)
				defer checkPeaceful(t, bystander)
				if p != nil {
					defer func() {
						if err := p.Close(t.Context()); err != nil {
							t.Error(err)
						}
					}()
				}
				switch want.At {
				case hostiletest.Load, hostiletest.Start, hostiletest.Describe:
					checkError(t, err, want.At, want)
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if c.Name == "no-tools" {
					return
				}
				for range 2 {
					if !c.Any {
						checkPeaceful(t, p)
					}
					for _, export := range []string{abi.ExportCall, abi.ExportResume} {
						out, err := p.Run(t.Context(), export, []byte(`"8 bytes, and then the sign to attack: ^"`), h)
						if want.At == hostiletest.Call && want.Error != string(engine.Runs) && want.Error != string(engine.Deliveries) {
							checkError(t, err, export, want)
						} else if err != nil && !errors.Is(err, engine.HostCalls) { // the test's host functions do not enforce limits
							t.Errorf("got %.100q, %v", out, err)
						}
					}
				}
			})
		}
	})
}

func checkError(t *testing.T, err error, op string, want hostiletest.Outcome) {
	t.Helper()
	var typed *engine.Error
	if !errors.As(err, &typed) {
		t.Fatalf("got %v, want %s", err, want.Error)
	}
	if typed.Op != op || string(typed.Kind) != want.Error || !strings.Contains(err.Error(), want.Says) || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %s in %s (%v), want %s in %s with %q", typed.Kind, typed.Op, err, want.Error, op, want.Says)
	}
}

// TestIdleInstanceReleasesStack checks that an idle instance does not hold the stack of
// a deep call.
func TestIdleInstanceReleasesStack(t *testing.T) {
	p, err := newEngine(t, nil).Load(t.Context(), hostiletest.Wasm(t, hostile, "recursion-returns"))
	if err != nil {
		t.Fatal(err)
	}
	heapInUse := func() int64 {
		runtime.GC()
		runtime.GC() // the second run frees the objects that sync.Pools have dropped
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heapInUse()
	for _, export := range []string{abi.ExportCall, abi.ExportResume} {
		if _, err := p.Run(t.Context(), export, []byte(`^`), nil); err != nil {
			t.Fatal(err)
		}
	}
	if growth := heapInUse() - before; growth > 4<<20 {
		t.Errorf("an idle instance holds %d additional bytes", growth)
	}
	if s := p.Stats(); s.Reset < 2 {
		t.Errorf("the instance was discarded: %+v", s)
	}
}
