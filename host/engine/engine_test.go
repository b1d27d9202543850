package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/engine"
	"github.com/parley-wasm/parley/host/engine/wasmtest"
)

// hostFunc is a HostFunctions.
type hostFunc func(ctx context.Context, family string, request []byte) []byte

var _ engine.HostFunctions = hostFunc(nil)

func (f hostFunc) Call(ctx context.Context, family string, request []byte) []byte {
	return f(ctx, family, request)
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

// echo is a call that hands its input to the store and returns the reply, as
// plugins do, eight bytes at a time. Inputs are of 8 bytes.
var echo = wasmtest.Code(
	wasmtest.I64(8), wasmtest.Call(wasmtest.Alloc), wasmtest.Set(0),
	wasmtest.Get(0), wasmtest.I64(0), wasmtest.Call(wasmtest.InputLoadU64), wasmtest.Call(wasmtest.StoreU64Env),
	wasmtest.Get(0), wasmtest.Call(wasmtest.StoreHost), wasmtest.Set(1),
	wasmtest.Get(0), wasmtest.Call(wasmtest.Free),
	wasmtest.Get(1), wasmtest.Get(1), wasmtest.Call(wasmtest.Length), wasmtest.Call(wasmtest.OutputSet),
	wasmtest.I32(0),
)

// timeout is short for the tests that wait for it, and out of the way for the
// others, however busy the machine is.
func timeout(k engine.Kind) time.Duration {
	if k == engine.Deadline {
		return 500 * time.Millisecond
	}
	return time.Minute
}

func TestRun(t *testing.T) {
	p := load(t, newEngine(t, nil), wasmtest.Plugin(echo))
	if got := string(p.Describe()); got != wasmtest.Description {
		t.Errorf("description is %s", got)
	}
	for n := range 3 {
		input := fmt.Sprintf("input %d\n", n)
		out, err := p.Run(t.Context(), abi.ExportCall, []byte(input), hostFunc(func(_ context.Context, family string, request []byte) []byte {
			if family != abi.ImportStore || string(request) != input {
				t.Errorf("host function %s got %q", family, request)
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
		t.Errorf("another export: %v", err)
	}
}

func TestConcurrentRuns(t *testing.T) {
	p := load(t, newEngine(t, &engine.Options{Limits: engine.Limits{IdleInstances: 2, CallsPerInstance: 7}}), wasmtest.Plugin(echo))
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

// TestTurns: more calls than may run at once wait, outside their deadline.
func TestTurns(t *testing.T) { synctest.Test(t, testTurns) }

// testTurns runs on the bubble's clock: the sleeps take no time.
func testTurns(t *testing.T) {
	const running, calls, each = 2, 12, time.Second
	e := newEngine(t, &engine.Options{Limits: engine.Limits{RunningCalls: running, StepTimeout: calls * each / running}})
	p := load(t, e, wasmtest.Plugin(echo))
	var now, most atomic.Int32
	h := hostFunc(func(_ context.Context, _ string, request []byte) []byte {
		n := now.Add(1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		time.Sleep(each)
		now.Add(-1)
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
	if most.Load() != running {
		t.Errorf("%d calls ran at once, want %d", most.Load(), running)
	}
}

// TestTurnCanceled: a caller that goes away does not wait for its turn.
func TestTurnCanceled(t *testing.T) {
	p := load(t, newEngine(t, &engine.Options{Limits: engine.Limits{RunningCalls: 1}}), wasmtest.Plugin(echo))
	h := hostFunc(func(_ context.Context, _ string, request []byte) []byte {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := p.Run(ctx, abi.ExportCall, []byte("8 bytes."), nil); !errors.Is(err, engine.Deadline) {
			t.Errorf("a call whose turn does not come: %v", err)
		}
		return request
	})
	if _, err := p.Run(t.Context(), abi.ExportCall, []byte("8 bytes."), h); err != nil {
		t.Error(err)
	}
}

// TestFailures checks what a call that goes wrong returns, and that the next call
// of the same plugin goes well.
func TestFailures(t *testing.T) {
	run := wasmtest.Code
	text := wasmtest.Block("12345678")
	for _, c := range []struct {
		name string
		body []byte // of a call with the input "bad"; else the call returns at once
		kind engine.Kind
		code abi.Code
		want string
	}{
		{"unreachable", wasmtest.Unreachable, engine.Trap, abi.Internal, "trap: unreachable"},
		{"endless loop", wasmtest.Forever, engine.Deadline, abi.Limit, "a step has 500ms at most"},
		{"endless host calls", wasmtest.Loop(wasmtest.I64(8), wasmtest.Call(wasmtest.Alloc), wasmtest.Call(wasmtest.Free)), engine.Deadline, abi.Limit, "deadline"},
		{"deep recursion", wasmtest.Call(wasmtest.OwnFuncs + 3), engine.Trap, abi.Internal, "stack overflow"},
		{"memory bomb", run(wasmtest.Loop(wasmtest.I32(64), wasmtest.GrowMemory,
			[]byte{0x41, 0x7f, 0x46, 0x04, 0x40}, wasmtest.Unreachable, []byte{0x0b})), engine.Memory, abi.Limit, "of at most 16 MiB"},
		{"environment bomb", wasmtest.Loop(wasmtest.I64(1<<18), wasmtest.Call(wasmtest.Alloc), wasmtest.Drop), engine.Memory, abi.Limit, "environment's memory"},
		{"huge allocation", run(wasmtest.I64(-1), wasmtest.Call(wasmtest.Alloc), wasmtest.Drop), engine.Memory, abi.Limit, "18446744073709551615 more bytes"},
		{"tiny allocations", wasmtest.Loop(wasmtest.I64(1), wasmtest.Call(wasmtest.Alloc), wasmtest.Drop), engine.Memory, abi.Limit, "environment's memory"},
		{"output past its block", run(text, wasmtest.Get(0), wasmtest.I64(1000), wasmtest.Call(wasmtest.OutputSet)), engine.Trap, abi.Internal, "output_set: 1000 bytes at offset"},
		{"output of no block", run(wasmtest.I64(12), wasmtest.I64(1), wasmtest.Call(wasmtest.OutputSet)), engine.Trap, abi.Internal, "offset 12 lies in no allocated block"},
		{"output of negative length", run(text, wasmtest.Get(0), wasmtest.I64(-1), wasmtest.Call(wasmtest.OutputSet)), engine.OutputTooLarge, abi.Limit, "bytes of output"},
		{"output too large", run(wasmtest.I64(70_000), wasmtest.Call(wasmtest.Alloc), wasmtest.I64(70_000), wasmtest.Call(wasmtest.OutputSet)), engine.OutputTooLarge, abi.Limit, "70000 bytes of output; at most 65536"},
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
				Limits: engine.Limits{StepTimeout: timeout(c.kind), MemoryMiB: 16, EnvironmentMiB: 1, OutputBytes: 64 << 10},
				Logger: slog.New(slog.DiscardHandler),
			})
			// if input_length == 3 { body }
			body := wasmtest.Code(wasmtest.Call(wasmtest.InputLength), wasmtest.I64(3), []byte{0x51, 0x04, 0x40}, c.body, []byte{0x0b}, wasmtest.I32(0))
			m := wasmtest.Plugin(body)
			m.Funcs = append(m.Funcs, wasmtest.Func{Type: wasmtest.Void, Body: wasmtest.Call(wasmtest.OwnFuncs + 3)})
			p := load(t, e, m)
			h := hostFunc(func(context.Context, string, []byte) []byte { panic("boom") })
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

// TestNothingSurvives checks that variables and blocks of a call are unknown to
// the next call of the same instance.
func TestNothingSurvives(t *testing.T) {
	// The first call sets a variable; each answers with the variable's length, and
	// with what a block holds that nobody has written.
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

func TestContext(t *testing.T) {
	p := load(t, newEngine(t, nil), wasmtest.Plugin(wasmtest.Code(wasmtest.Block("12345678"), wasmtest.Get(0),
		wasmtest.Call(wasmtest.StoreHost), wasmtest.Drop, wasmtest.Forever, wasmtest.Unreachable)))
	ctx, cancel := context.WithCancel(t.Context())
	h := hostFunc(func(context.Context, string, []byte) []byte { cancel(); return nil })
	for range 2 { // the second call begins with a context that has ended
		_, err := p.Run(ctx, abi.ExportCall, nil, h)
		if !errors.Is(err, engine.Canceled) || errors.Is(err, engine.Deadline) {
			t.Errorf("got %v, want Canceled", err)
		}
	}
}

func TestLogging(t *testing.T) {
	var log bytes.Buffer
	e := newEngine(t, &engine.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	p := load(t, e, wasmtest.Plugin(wasmtest.Code(
		wasmtest.Block("A line\xff!"), wasmtest.Repeat(1, 100_000, wasmtest.Get(0), wasmtest.Call(wasmtest.LogInfo)), wasmtest.I32(0))))
	if _, err := p.Run(t.Context(), abi.ExportCall, nil, nil); err != nil {
		t.Fatal(err)
	}
	if n := log.Len(); n > 1<<20 || !strings.Contains(log.String(), "plugin: A line\uFFFD!") || !strings.Contains(log.String(), "are left out") {
		t.Errorf("%d bytes were logged: %.200s", n, log.String())
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

func TestOptions(t *testing.T) {
	for _, l := range []engine.Limits{{StepTimeout: -1}, {MemoryMiB: -1}, {MemoryMiB: 5000}, {OutputBytes: -1}, {IdleInstances: -2}, {RunningCalls: -1}} {
		if _, err := engine.New(t.Context(), &engine.Options{Limits: l}); err == nil || !strings.Contains(err.Error(), "engine: Limits.") {
			t.Errorf("limits %+v: %v", l, err)
		}
	}
}

// TestReplaced uses the size of the memory as the age of an instance: a call
// grows it, and traps when it has become larger than instances may get.
func TestReplaced(t *testing.T) {
	call := func(grow, most int32) []byte {
		return wasmtest.Code(
			wasmtest.I32(grow), wasmtest.GrowMemory, wasmtest.Drop,
			[]byte{0x3f, 0}, wasmtest.I32(most), []byte{0x4b, 0x04, 0x40}, wasmtest.Unreachable, []byte{0x0b}, // memory.size > most
			wasmtest.I32(0))
	}
	for _, c := range []struct {
		name   string
		limits engine.Limits
		body   []byte
	}{
		{"after its calls", engine.Limits{CallsPerInstance: 4}, call(1, 6)}, // 1, and 4 calls, and describe
		{"after its growth", engine.Limits{GrowthMiB: 1}, call(10, 21)},     // 1, and twice 10
	} {
		t.Run(c.name, func(t *testing.T) {
			p := load(t, newEngine(t, &engine.Options{Limits: c.limits}), wasmtest.Plugin(c.body))
			for n := range 50 {
				if _, err := p.Run(t.Context(), abi.ExportCall, nil, nil); err != nil {
					t.Fatalf("call %d: %v", n, err)
				}
			}
		})
	}
}
