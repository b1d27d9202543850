package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/engine"
	"github.com/parley-wasm/parley/host/internal/engine/wasmtest"
)

// hostFunc implements HostFunctions with a function.
type hostFunc func(ctx context.Context, namespace string, request []byte) []byte

var _ engine.HostFunctions = hostFunc(nil)

func (f hostFunc) Call(ctx context.Context, namespace string, request []byte) ([]byte, error) {
	return f(ctx, namespace, request), nil
}

func newEngine(t testing.TB, o *engine.Options) *engine.Engine {
	t.Helper()
	e, err := engine.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return e
}

func load(t testing.TB, e *engine.Engine, m *wasmtest.Module) *engine.Plugin {
	t.Helper()
	p, err := e.Load(t.Context(), m.Encode())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// echo is the body of a call that passes its input to the store function and returns
// the reply. The input must have 8 bytes.
var echo = wasmtest.Code(
	wasmtest.I64(8), wasmtest.Call(wasmtest.Alloc), wasmtest.Set(0),
	wasmtest.Get(0), wasmtest.I64(0), wasmtest.Call(wasmtest.InputLoadU64), wasmtest.Call(wasmtest.StoreU64Env),
	wasmtest.Get(0), wasmtest.Call(wasmtest.StoreHost), wasmtest.Set(1),
	wasmtest.Get(0), wasmtest.Call(wasmtest.Free),
	wasmtest.Get(1), wasmtest.Get(1), wasmtest.Call(wasmtest.Length), wasmtest.Call(wasmtest.OutputSet),
	wasmtest.I32(0),
)

func TestRun(t *testing.T) {
	t.Parallel()
	p := load(t, newEngine(t, nil), wasmtest.Plugin(echo))
	if got := string(p.Describe()); got != wasmtest.Description {
		t.Errorf("description is %s", got)
	}
	for n := range 3 {
		input := fmt.Sprintf("input %d\n", n)
		out, err := p.Run(t.Context(), abi.ExportCall, []byte(input), hostFunc(func(_ context.Context, namespace string, request []byte) []byte {
			if namespace != abi.ImportStore || string(request) != input {
				t.Errorf("host function %s got %q", namespace, request)
			}
			return []byte("reply to " + string(request))
		}))
		if err != nil || string(out) != "reply to "+input {
			t.Errorf("output is %q, %v", out, err)
		}
	}
	if out, err := p.Run(t.Context(), abi.ExportResume, nil, nil); err != nil || len(out) != 0 {
		t.Errorf("resume: %q, %v", out, err)
	}
	if _, err := p.Run(t.Context(), "memory", nil, nil); !errors.Is(err, engine.MissingExport) {
		t.Errorf("an export that is not an entry point: %v", err)
	}
}

// TestFailures checks the error of a failed call, and that the next call of the same
// plugin succeeds.
func TestFailures(t *testing.T) {
	t.Parallel()
	run := wasmtest.Code
	text := wasmtest.Block("12345678")
	for _, c := range []struct {
		name string
		body []byte // runs if the input is "bad"; other calls return at once
		kind engine.Kind
		code abi.Code
		want string
	}{
		{"unreachable", wasmtest.Unreachable, engine.Trap, abi.Internal, "trap: unreachable"},
		{"endless loop", wasmtest.Forever, engine.Fuel, abi.Limit, "limit: fuel: the step used up its 100000000 units"},
		{"endless calls of the environment", wasmtest.Loop(wasmtest.I64(8), wasmtest.Call(wasmtest.Alloc), wasmtest.Call(wasmtest.Free)), engine.Fuel, abi.Limit, "limit: fuel"},
		{"bulk memory", wasmtest.Loop(wasmtest.I32(0), wasmtest.I32(0), wasmtest.I32(1<<16), wasmtest.FillMemory), engine.Fuel, abi.Limit, "limit: fuel"},
		{"host calls", wasmtest.Loop(text, wasmtest.Get(0), wasmtest.Call(wasmtest.StoreHost), wasmtest.Drop, wasmtest.Get(0), wasmtest.Call(wasmtest.Free)), engine.HostCalls, abi.Limit, "limit: host calls: store: more than 1000 calls of host functions"},
		{"log lines", run(text, wasmtest.Loop(wasmtest.Get(0), wasmtest.Call(wasmtest.LogInfo))), engine.LogLines, abi.Limit, "limit: log lines: log_info: more than 256 lines"},
		{"deep recursion", wasmtest.Call(wasmtest.OwnFuncs + 3), engine.Stack, abi.Limit, "stack overflow"},
		{"memory bomb", run(wasmtest.Loop(wasmtest.I32(64), wasmtest.GrowMemory,
			[]byte{0x41, 0x7f, 0x46, 0x04, 0x40}, wasmtest.Unreachable, []byte{0x0b})), engine.Memory, abi.Limit, "of at most 16 MiB"},
		{"environment bomb", wasmtest.Loop(wasmtest.I64(1<<18), wasmtest.Call(wasmtest.Alloc), wasmtest.Drop), engine.Memory, abi.Limit, "environment's memory"},
		{"huge allocation", run(wasmtest.I64(-1), wasmtest.Call(wasmtest.Alloc), wasmtest.Drop), engine.Memory, abi.Limit, "18446744073709551615 more bytes"},
		{"tiny allocations", wasmtest.Loop(wasmtest.I64(1), wasmtest.Call(wasmtest.Alloc), wasmtest.Drop), engine.Memory, abi.Limit, "environment's memory"},
		{"output past its block", run(text, wasmtest.Get(0), wasmtest.I64(1000), wasmtest.Call(wasmtest.OutputSet)), engine.Trap, abi.Internal, "output_set: 1000 bytes at offset"},
		{"output of no block", run(wasmtest.I64(12), wasmtest.I64(1), wasmtest.Call(wasmtest.OutputSet)), engine.Trap, abi.Internal, "offset 12 lies in no allocated block"},
		{"output of negative length", run(text, wasmtest.Get(0), wasmtest.I64(-1), wasmtest.Call(wasmtest.OutputSet)), engine.BytesOut, abi.Limit, "limit: bytes out: output and requests"},
		{"output too large", run(wasmtest.I64(2_000_000), wasmtest.Call(wasmtest.Alloc), wasmtest.I64(2_000_000), wasmtest.Call(wasmtest.OutputSet)), engine.BytesOut, abi.Limit, "more than 1048576 bytes"},
		{"load past a block", run(text, wasmtest.Get(0), wasmtest.I64(1), wasmtest.I64Add, wasmtest.Call(wasmtest.LoadU64Env), wasmtest.Drop), engine.Trap, abi.Internal, "load_u64: 8 bytes at offset"},
		{"load at the end of numbers", run(wasmtest.I64(-8), wasmtest.Call(wasmtest.LoadU64Env), wasmtest.Drop), engine.Trap, abi.Internal, "lies in no allocated block"},
		{"store to nowhere", run(wasmtest.I64(0), wasmtest.I64(0), wasmtest.Call(wasmtest.StoreU64Env)), engine.Trap, abi.Internal, "store_u64: offset 0"},
		{"use after free", run(text, wasmtest.Get(0), wasmtest.Call(wasmtest.Free), wasmtest.Get(0), wasmtest.Call(wasmtest.LoadU64Env), wasmtest.Drop), engine.Trap, abi.Internal, "lies in no allocated block"},
		{"input past its end", run(wasmtest.I64(-1), wasmtest.Call(wasmtest.InputLoadU8), wasmtest.Drop), engine.Trap, abi.Internal, "reach past the input of 3 bytes"},
		{"request inside a block", run(text, wasmtest.Get(0), wasmtest.I64(1), wasmtest.I64Add, wasmtest.Call(wasmtest.StoreHost), wasmtest.Drop), engine.Trap, abi.Internal, "store: no allocated block begins at offset"},
		{"host function panics", run(text, wasmtest.Get(0), wasmtest.Call(wasmtest.StoreHost), wasmtest.Drop), engine.HostCall, abi.Internal, "store: the host function panicked: boom"},
		{"network", run(wasmtest.I64(0), wasmtest.I64(0), wasmtest.Call(wasmtest.HTTPRequest), wasmtest.Drop), engine.Trap, abi.Internal, "plugins have no network"},
		{"variables", run(text, wasmtest.Get(0), wasmtest.I64(99), wasmtest.Call(wasmtest.VarSet)), engine.Trap, abi.Internal, "var_set: no allocated block begins at offset 99"},
		{"error text", run(text, wasmtest.Get(0), wasmtest.Call(wasmtest.ErrorSet)), engine.Failed, abi.Internal, "failed with result 0: 12345678"},
		{"result", run(wasmtest.I32(-7), []byte{0x0f}), engine.Failed, abi.Internal, "failed with result -7 and no error text"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newEngine(t, &engine.Options{
				Limits: engine.Limits{Fuel: 100_000_000, StepTimeout: time.Minute, MemoryMiB: 16, InMiB: 1, OutMiB: 1},
				Logger: slog.New(slog.DiscardHandler),
			})
			// if input_length == 3 { body }
			body := wasmtest.Code(wasmtest.Call(wasmtest.InputLength), wasmtest.I64(3), []byte{0x51, 0x04, 0x40}, c.body, []byte{0x0b}, wasmtest.I32(0))
			m := wasmtest.Plugin(body)
			m.Funcs = append(m.Funcs, wasmtest.Func{Type: wasmtest.Void, Body: wasmtest.Call(wasmtest.OwnFuncs + 3)})
			p := load(t, e, m)
			h := hostFunc(func(context.Context, string, []byte) []byte {
				if c.kind == engine.HostCall {
					panic("boom")
				}
				return nil
			})
			out, err := p.Run(t.Context(), abi.ExportCall, []byte("bad"), h)
			var typed *engine.Error
			if !errors.As(err, &typed) {
				t.Fatalf("got %q, %v; want an *engine.Error", out, err)
			}
			if typed.Kind != c.kind || !errors.Is(err, c.kind) || !errors.Is(err, c.code) || typed.Op != abi.ExportCall {
				t.Errorf("got %s in %s (%v), want %s with code %s", typed.Kind, typed.Op, err, c.kind, c.code)
			}
			if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %q, want one line with %q", err, c.want)
			}
			if _, err := p.Run(t.Context(), abi.ExportCall, []byte("good"), h); err != nil {
				t.Errorf("the next call: %v", err)
			}
		})
	}
}

// TestStateIsPerCall checks that a call cannot read the variables and blocks of an
// earlier call in the same instance.
func TestStateIsPerCall(t *testing.T) {
	t.Parallel()
	// Each call returns the length of the variable plus the contents of a new block,
	// and then sets the variable.
	body := wasmtest.Code(
		wasmtest.Block("variable"),
		wasmtest.Get(0), wasmtest.Call(wasmtest.VarGet), wasmtest.Call(wasmtest.Length),
		wasmtest.I64(16), wasmtest.Call(wasmtest.Alloc), wasmtest.Call(wasmtest.LoadU64Env), wasmtest.I64Add, wasmtest.I32WrapI64,
		wasmtest.Get(0), wasmtest.Get(0), wasmtest.Call(wasmtest.VarSet),
		wasmtest.Block("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
	)
	p := load(t, newEngine(t, nil), wasmtest.Plugin(body))
	for range 3 {
		if _, err := p.Run(t.Context(), abi.ExportCall, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLogging(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	e := newEngine(t, &engine.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	p := load(t, e, wasmtest.Plugin(wasmtest.Code(
		wasmtest.Block("A line\xff!"), wasmtest.Repeat(1, 256, wasmtest.Get(0), wasmtest.Call(wasmtest.LogInfo)),
		wasmtest.I32(0))))
	for range 2 { // the limit applies to each call
		if _, err := p.Run(t.Context(), abi.ExportCall, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(log.String(), "plugin: A line\uFFFD!"); n != 512 {
		t.Errorf("%d lines were logged: %.200s", n, log.String())
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for _, l := range []engine.Limits{{StepTimeout: -1}, {Compilation: -1}, {MemoryMiB: -1}, {MemoryMiB: 5000}, {OutMiB: -1}, {Fuel: -1}, {IdleInstances: -2}, {RunningCalls: -1}} {
		if _, err := engine.New(t.Context(), &engine.Options{Limits: l}); err == nil || !strings.Contains(err.Error(), "engine: Limits.") {
			t.Errorf("limits %+v: %v", l, err)
		}
	}
}

// TestHostError checks that a call fails with the error of its host function.
func TestHostError(t *testing.T) {
	t.Parallel()
	p := load(t, newEngine(t, nil), wasmtest.Plugin(echo))
	storeErr := errors.New("the store is closed")
	for _, c := range []struct {
		err  error
		kind engine.Kind
	}{
		{storeErr, engine.HostCall}, {&engine.Error{Kind: engine.BytesIn, Message: "of its own"}, engine.BytesIn},
		{context.DeadlineExceeded, engine.HostCall}, {context.Canceled, engine.HostCall}, // returned by the host function; the caller's context has not ended
	} {
		_, err := p.Run(t.Context(), abi.ExportCall, []byte("8 bytes."), failingHost{c.err})
		if !errors.Is(err, c.kind) || !errors.Is(err, c.err) || !strings.HasPrefix(err.Error(), "engine: call: ") {
			t.Errorf("got %v, want %s", err, c.kind)
		}
	}
}

type failingHost struct{ err error }

func (f failingHost) Call(context.Context, string, []byte) ([]byte, error) { return nil, f.err }
