package engine_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/engine"
	"github.com/parley-wasm/parley/host/engine/wasmedit"
	"github.com/parley-wasm/parley/host/engine/wasmtest"
)

// hostFunc is a HostFunctions.
type hostFunc func(ctx context.Context, family string, request []byte) []byte

var _ engine.HostFunctions = hostFunc(nil)

func (f hostFunc) Call(ctx context.Context, family string, request []byte) ([]byte, error) {
	return f(ctx, family, request), nil
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
		if _, err := p.Run(ctx, abi.ExportCall, []byte("8 bytes."), nil); !errors.Is(err, engine.Canceled) || errors.Is(err, engine.Time) || !errors.Is(err, context.DeadlineExceeded) {
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
		if !errors.Is(err, engine.Canceled) || errors.Is(err, engine.Time) || !errors.Is(err, context.Canceled) ||
			!strings.Contains(err.Error(), "the caller has gone") {
			t.Errorf("got %v, want Canceled", err)
		}
	}
}

func TestLogging(t *testing.T) {
	var log bytes.Buffer
	e := newEngine(t, &engine.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	p := load(t, e, wasmtest.Plugin(wasmtest.Code(
		wasmtest.Block("A line\xff!"), wasmtest.Repeat(1, 256, wasmtest.Get(0), wasmtest.Call(wasmtest.LogInfo)),
		wasmtest.I32(0))))
	for range 2 { // the limit is each call's own
		if _, err := p.Run(t.Context(), abi.ExportCall, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(log.String(), "plugin: A line\uFFFD!"); n != 512 {
		t.Errorf("%d lines were logged: %.200s", n, log.String())
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
	for _, l := range []engine.Limits{{StepTimeout: -1}, {MemoryMiB: -1}, {MemoryMiB: 5000}, {OutMiB: -1}, {Fuel: -1}, {IdleInstances: -2}, {RunningCalls: -1}} {
		if _, err := engine.New(t.Context(), &engine.Options{Limits: l}); err == nil || !strings.Contains(err.Error(), "engine: Limits.") {
			t.Errorf("limits %+v: %v", l, err)
		}
	}
}

// TestTime: a step that takes too long is stopped. Whose fault that is depends on who
// was at work then, and who set the time.
func TestTime(t *testing.T) {
	const timeout = 50 * time.Millisecond
	forever := wasmtest.Code(wasmtest.Forever, wasmtest.Unreachable)
	asks := wasmtest.Code(wasmtest.Block("12345678"), wasmtest.Get(0), wasmtest.Call(wasmtest.StoreHost), wasmtest.Drop, wasmtest.I32(0))
	passes := func(ctx context.Context) error { <-ctx.Done(); return nil }
	fails := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
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
		{"guest, for the caller", forever, nil, timeout / 2, engine.Canceled, abi.Internal, "the caller's time is over"},
		{"host function", asks, passes, 0, engine.HostCall, abi.Internal, "store: context deadline exceeded"},
		{"host function that fails then", asks, fails, 0, engine.HostCall, abi.Internal, "store: context deadline exceeded"},
		{"host function, for the caller", asks, passes, timeout / 2, engine.Canceled, abi.Internal, "the caller's time is over"},
		{"host function that fails then, for the caller", asks, fails, timeout / 2, engine.Canceled, abi.Internal, "the caller's time is over"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := load(t, newEngine(t, &engine.Options{Limits: engine.Limits{StepTimeout: timeout, Fuel: 1 << 50}}), wasmtest.Plugin(c.call))
			ctx := t.Context()
			if c.ctx > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, c.ctx)
				defer cancel()
			}
			_, err := p.Run(ctx, abi.ExportCall, nil, ends(c.host))
			var typed *engine.Error
			if !errors.As(err, &typed) || typed.Kind != c.kind || !errors.Is(err, c.code) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s: %s", err, c.kind, c.want)
			}
			if c.kind != engine.Time && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v does not unwrap to the context's error", err)
			}
			if n := p.Stats().Failed; n != 1 {
				t.Errorf("%d instances are closed as failed", n)
			}
		})
	}
}

// ends is a HostFunctions without replies.
type ends func(ctx context.Context) error

func (f ends) Call(ctx context.Context, _ string, _ []byte) ([]byte, error) { return nil, f(ctx) }

// TestTimeOverAtReturn: a host function that returns as the time ends has used it up,
// whichever timer comes first. The bubble's clock stands still but for the sleep.
func TestTimeOverAtReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const timeout = time.Second
		p := load(t, newEngine(t, &engine.Options{Limits: engine.Limits{StepTimeout: timeout}}), wasmtest.Plugin(echo))
		_, err := p.Run(t.Context(), abi.ExportCall, []byte("8 bytes."), ends(func(context.Context) error { time.Sleep(timeout); return nil }))
		if !errors.Is(err, engine.HostCall) {
			t.Errorf("got %v, want %s", err, engine.HostCall)
		}
	})
}

// TestHostError: a host function can end the call.
func TestHostError(t *testing.T) {
	p := load(t, newEngine(t, nil), wasmtest.Plugin(echo))
	gone := errors.New("the store has gone")
	for _, c := range []struct {
		err  error
		kind engine.Kind
	}{
		{gone, engine.HostCall}, {&engine.Error{Kind: engine.BytesIn, Message: "of its own"}, engine.BytesIn},
		{context.DeadlineExceeded, engine.HostCall}, {context.Canceled, engine.HostCall}, // of contexts that are not the caller's
	} {
		_, err := p.Run(t.Context(), abi.ExportCall, []byte("8 bytes."), failing{c.err})
		if !errors.Is(err, c.kind) || !errors.Is(err, c.err) || !strings.HasPrefix(err.Error(), "engine: call: ") {
			t.Errorf("got %v, want %s", err, c.kind)
		}
	}
}

type failing struct{ err error }

func (f failing) Call(context.Context, string, []byte) ([]byte, error) { return nil, f.err }

// TestRestored: each call finds memory, its size and globals as they were after the
// start function, whatever the call before has done to them.
func TestRestored(t *testing.T) {
	secret := bytes.Repeat([]byte("secret of a caller "), 100)
	m := wasmtest.Plugin(nil)
	m.Memory, m.Data = []uint32{2}, "data"
	m.Globals = []wasmtest.Global{{Type: wasmedit.I64, Mutable: true}, {Type: wasmedit.I32, Mutable: true}, {Type: wasmedit.V128, Mutable: true}}
	// The start function leaves something too.
	m.Start = wasmtest.OwnFuncs + len(m.Funcs)
	m.Funcs = append(m.Funcs, wasmtest.Func{Type: wasmtest.Void, Body: wasmtest.Code(
		wasmtest.I32(100), wasmtest.I64(77), wasmtest.StoreU64, wasmtest.I64(78), wasmtest.SetGlobal(0))})
	for _, c := range []struct {
		name    string
		spoil   []byte
		max     []uint32
		restore bool
	}{
		{"memory and globals", nil, nil, true},
		{"memory grows", wasmtest.Code(wasmtest.I32(3), wasmtest.GrowMemory, wasmtest.Drop), nil, true},
		{"memory grows to its end", wasmtest.Code(wasmtest.I32(3), wasmtest.GrowMemory, wasmtest.Drop), []uint32{2, 5}, false},
		{"memory grows too much", wasmtest.Code(wasmtest.I32(40), wasmtest.GrowMemory, wasmtest.Drop), nil, false},
		{"data is dropped", []byte{0xfc, 0x09, 0}, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := *m
			m.Funcs = slices.Clone(m.Funcs)
			if c.max != nil {
				m.Memory = c.max
			}
			// The call says what it finds (memory.size, the first bytes, globals), and
			// then spoils it: it writes its input everywhere.
			m.Funcs[1].Body = wasmtest.Code(
				wasmtest.Report([]byte{0x3f, 0, 0xad}, // memory.size, i64.extend_i32_u
					wasmtest.Code(wasmtest.I32(0), wasmtest.LoadU64), wasmtest.Code(wasmtest.I32(100), wasmtest.LoadU64),
					wasmtest.Code(wasmtest.I32(70000), wasmtest.LoadU64), wasmtest.Code(wasmtest.I32(131064), wasmtest.LoadU64),
					wasmtest.GetGlobal(0), wasmtest.Code(wasmtest.GetGlobal(1), []byte{0xad}),
					wasmtest.Code(wasmtest.GetGlobal(2), []byte{0xfd, 0x1d, 1})), // i64x2.extract_lane 1
				wasmtest.I32(0), wasmtest.I32('s'), wasmtest.I32(131072), wasmtest.FillMemory,
				wasmtest.I64(1), wasmtest.SetGlobal(0), wasmtest.I32(1), wasmtest.SetGlobal(1),
				wasmtest.I64(5), []byte{0xfd, 0x12}, wasmtest.SetGlobal(2), // i64x2.splat
				c.spoil, wasmtest.I32(0))
			p := load(t, newEngine(t, &engine.Options{Limits: engine.Limits{IdleInstances: 1, GrowthMiB: 1}}), &m)
			var first []byte
			for n := range 5 {
				out, err := p.Run(t.Context(), abi.ExportCall, secret, nil)
				if err != nil {
					t.Fatal(err)
				}
				if n == 0 {
					first = out
				}
				if !bytes.Equal(out, first) {
					t.Fatalf("call %d finds %x, the first found %x", n, out, first)
				}
			}
			want := []uint64{2, binary.LittleEndian.Uint64([]byte("data\x00\x00\x00\x00")), 77, 0, 0, 78, 0, 0}
			for n, w := range want {
				if got := binary.LittleEndian.Uint64(first[8*n:]); got != w {
					t.Errorf("value %d is %d, want %d", n, got, w)
				}
			}
			s := p.Stats()
			if kept := s.Kept == 6; kept != c.restore || s.Failed > 0 || s.Opened+s.Kept-s.Surplus < 6 {
				t.Errorf("stats are %+v", s)
			}
		})
	}
}
