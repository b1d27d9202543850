package verify_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/engine"
	"github.com/parley-wasm/parley/host/internal/module/verify"
	"github.com/parley-wasm/parley/plugin/wasm"
)

var tools = []string{abi.ToolList, abi.ToolHistory, abi.ToolAgents, abi.ToolSend, abi.ToolSpawn}

// sandbox is the engine of most tests. It runs one call at a time.
var sandbox *engine.Engine

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	cache, err := os.MkdirTemp("", "verify")
	if err == nil {
		defer os.RemoveAll(cache)
		sandbox, err = engine.New(context.Background(), &engine.Options{
			CacheDir: cache, Logger: slog.New(slog.DiscardHandler), Limits: engine.Limits{RunningCalls: 1},
		})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer sandbox.Close(context.Background())
	return m.Run()
}

// load loads a module and closes it at the end of the test.
func load(t *testing.T, wasm []byte) *engine.Plugin {
	t.Helper()
	p, err := sandbox.Load(t.Context(), wasm)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return p
}

// TestKernelCalls runs all vectors with Extism kernel calls, which hosts in other
// languages use. The other tests use direct memory.
func TestKernelCalls(t *testing.T) {
	e, err := engine.New(t.Context(), &engine.Options{KernelCallsOnly: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(context.Background())
	p, err := e.Load(t.Context(), wasm.Parley)
	if err != nil {
		t.Fatal(err)
	}
	r, err := verify.Module(t.Context(), p.Run, &verify.Options{Level: verify.All, Tools: tools})
	if err != nil {
		t.Fatal(err)
	}
	if r.Err() != nil || r.Passed < 800 {
		t.Errorf("%d vectors passed: %v", r.Passed, r.Err())
	}
}

func TestPlugin(t *testing.T) {
	p := load(t, wasm.Parley)
	counts := map[verify.Level]int{}
	for _, level := range []verify.Level{verify.Quick, verify.All} {
		last := 0
		r, err := verify.Module(t.Context(), p.Run, &verify.Options{Level: level, Tools: tools, Progress: func(done, total int) {
			if last++; done != last || total < done {
				t.Errorf("progress: %d of %d after %d", done, total, last-1)
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.Failures {
			t.Errorf("%s: %q", f.ID, f.Problems)
		}
		if r.Passed != r.Vectors || last != r.Vectors || r.Skipped != 0 || r.NotRun != 0 || r.Err() != nil {
			t.Errorf("%s: %+v, %d progress calls", level, r, last)
		}
		counts[level] = r.Vectors
	}
	if q, all := counts[verify.Quick], counts[verify.All]; q < 40 || q > 90 || all < 10*q {
		t.Errorf("%d quick vectors of %d", q, all)
	}
}

// TestChangedPlugin checks that a plugin with one changed word in its answers fails.
func TestChangedPlugin(t *testing.T) {
	for _, tt := range []struct{ from, to, fails string }{
		{`"count":`, `"kount":`, "S2.2/empty"},
		{"ANNOUNCE_SKIP", "ANNOUNCE_SKIQ", "S5.5/announce-run"},
	} {
		t.Run(tt.from, func(t *testing.T) {
			p := load(t, bytes.ReplaceAll(wasm.Parley, []byte(tt.from), []byte(tt.to)))
			r, err := verify.Module(t.Context(), p.Run, &verify.Options{Level: verify.Quick, Tools: tools})
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, f := range r.Failures {
				ids = append(ids, f.ID)
			}
			if !slices.Contains(ids, tt.fails) || r.Passed+len(ids) != r.Vectors || r.Passed == 0 {
				t.Errorf("%d of %d passed; %q failed", r.Passed, r.Vectors, ids)
			}
			if err := r.Err(); !errors.Is(err, abi.InvalidArgs) || !strings.Contains(err.Error(), ids[0]) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestMaxFailures(t *testing.T) {
	r, err := verify.Module(t.Context(), answering(func(context.Context, engine.HostFunctions) ([]byte, error) {
		return nil, errors.New("it crashed")
	}), &verify.Options{Level: verify.Quick, Tools: tools, MaxFailures: 3})
	if err != nil {
		t.Fatal(err)
	}
	// A vector that the other goroutine is running may still fail.
	if n := len(r.Failures); n < 3 || n > 4 || r.NotRun == 0 || r.Passed+n+r.NotRun != r.Vectors {
		t.Errorf("got %+v", r)
	}
	if text := r.Err().Error(); !strings.Contains(text, "were not run") {
		t.Errorf("got %s", text)
	}
}

// TestSomeTools checks that vectors for tools which the module does not describe are
// skipped, and do not count as failures.
func TestSomeTools(t *testing.T) {
	p := load(t, wasm.Parley)
	called := false
	for _, tt := range []struct {
		tools   []string
		skipAll bool
	}{{tools[:2], false}, {[]string{"weather"}, true}, {nil, true}} {
		r, err := verify.Module(t.Context(), func(ctx context.Context, export string, input []byte, h engine.HostFunctions) ([]byte, error) {
			called = called || bytes.Contains(input, []byte(`"tool":"sessions_send"`))
			return p.Run(ctx, export, input, h)
		}, &verify.Options{Level: verify.Quick, Tools: tt.tools})
		if err != nil || len(r.Failures) > 0 || r.Skipped == 0 || r.Passed+r.Skipped != r.Vectors || (r.Passed == 0) != tt.skipAll {
			t.Errorf("%q: %+v, %v", tt.tools, r, err)
		}
	}
	if called {
		t.Error("a vector called a tool that the module does not describe")
	}
}

// answering returns a Run whose describe lists the session tools and whose other
// exports call answer.
func answering(answer func(ctx context.Context, h engine.HostFunctions) ([]byte, error)) verify.Run {
	return func(ctx context.Context, export string, _ []byte, h engine.HostFunctions) ([]byte, error) {
		if export == abi.ExportDescribe {
			return []byte(`{"tools":[{"name":"sessions_list","readOnly":true},{"name":"sessions_history","readOnly":true},{"name":"agents_list","readOnly":true},` +
				`{"name":"sessions_send"},{"name":"sessions_spawn"}]}`), nil
		}
		return answer(ctx, h)
	}
}

// TestHostileModules checks that modules fail which never end, or which could crash the
// reference host.
func TestHostileModules(t *testing.T) {
	returns := func(output string) func(context.Context, engine.HostFunctions) ([]byte, error) {
		return func(context.Context, engine.HostFunctions) ([]byte, error) { return []byte(output), nil }
	}
	requests := func(request string, output string) func(context.Context, engine.HostFunctions) ([]byte, error) {
		return func(ctx context.Context, h engine.HostFunctions) ([]byte, error) {
			if _, err := h.Call(ctx, abi.ImportStore, []byte(request)); err != nil {
				return nil, err
			}
			return []byte(output), nil
		}
	}
	const more = `{"wait":{"until":1,"state":1,"stateVersion":1}}`
	big := `"` + strings.Repeat("x", 8<<20) + `"`
	for _, tt := range []struct {
		name, problem string
		answer        func(context.Context, engine.HostFunctions) ([]byte, error)
	}{
		{"always waits", "not ended after 1000 steps", returns(more)},
		{"requests without end", "more than 16777216 bytes", requests(big, more)},
		{"answers without end", "more than 16777216 bytes", returns(more + strings.Repeat(" ", 8<<20))},
		{"not JSON", "not strict JSON", returns(`{"result":`)},
		{"two answers", "not strict JSON", returns(`{"result":{},"result":{}}`)},
		{"deep", "not strict JSON", returns(`{"result":` + strings.Repeat("[", 1<<20) + strings.Repeat("]", 1<<20) + `}`)},
		{"an endless number", "", returns(`{"result":{"count":1e-999999999,"sessions":[],"status":1e-999999999}}`)},
		{"an array", "", returns(`[]`)},
		{"nothing", "not strict JSON", returns(``)},
		{"a broken request", "", requests(`{"op":`, `{"result":{}}`)},
		{"fails", "of fuel", func(context.Context, engine.HostFunctions) ([]byte, error) { return nil, errors.New("out of fuel") }},
		{"panics", "panicked on the module's answer: oops", func(context.Context, engine.HostFunctions) ([]byte, error) { panic("oops") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := verify.Module(t.Context(), answering(tt.answer), &verify.Options{Level: verify.Quick, Tools: tools[3:], MaxFailures: 1})
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for _, f := range r.Failures {
				found = found || strings.Contains(fmt.Sprint(f.Problems), tt.problem)
			}
			if r.Passed > 0 || !found {
				t.Errorf("passed %d, failed with %.300q", r.Passed, fmt.Sprint(r.Failures[0].Problems))
			}
		})
	}
}

// TestCrashIsNotARefusal checks that a crash counts as a failure even if the vector
// expects a refusal.
func TestCrashIsNotARefusal(t *testing.T) {
	p := load(t, wasm.Parley)
	r, err := verify.Module(t.Context(), func(ctx context.Context, export string, input []byte, h engine.HostFunctions) ([]byte, error) {
		output, err := p.Run(ctx, export, input, h)
		if bytes.HasPrefix(output, []byte(`{"error":`)) {
			return nil, abi.NewError(abi.InvalidArgs, "it crashed")
		}
		return output, err
	}, &verify.Options{Level: verify.Quick, Tools: tools})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Failures) == 0 || slices.ContainsFunc(r.Failures, func(f *verify.Failure) bool { return f.Problems[0] != "it crashed" }) {
		t.Errorf("got %+v", r)
	}
}

// TestCancel checks that the verification ends when its context is canceled during a
// step.
func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	var calls atomic.Int32
	r, err := verify.Module(ctx, answering(func(ctx context.Context, _ engine.HostFunctions) ([]byte, error) {
		calls.Add(1)
		cancel(errors.New("enough"))
		<-ctx.Done()
		return nil, ctx.Err()
	}), &verify.Options{Level: verify.Quick, Tools: tools})
	if r != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("got %+v, %v", r, err)
	}
	if n := calls.Load(); n > 2 {
		t.Errorf("%d steps ran, want at most 2", n)
	}
}

// TestConcurrencyLimit checks that at most two steps run at once.
func TestConcurrencyLimit(t *testing.T) {
	p := load(t, wasm.Parley)
	var mu sync.Mutex
	current, peak := 0, 0
	count := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		current += n
		peak = max(peak, current)
	}
	_, err := verify.Module(t.Context(), func(ctx context.Context, export string, input []byte, h engine.HostFunctions) ([]byte, error) {
		count(1)
		defer count(-1)
		return p.Run(ctx, export, input, h)
	}, &verify.Options{Level: verify.Quick, Tools: tools})
	if err != nil || peak > 2 {
		t.Errorf("%d steps at once, %v", peak, err)
	}
}

func TestUnknownLevel(t *testing.T) {
	if r, err := verify.Module(t.Context(), answering(nil), &verify.Options{Level: "some"}); err == nil {
		t.Errorf("got %+v", r)
	}
}

// TestSameAnswers checks that the answers of vectors with SameAs must be identical byte
// by byte.
func TestSameAnswers(t *testing.T) {
	p := load(t, wasm.Parley)
	var calls atomic.Int32
	r, err := verify.Module(t.Context(), func(ctx context.Context, export string, input []byte, h engine.HostFunctions) ([]byte, error) {
		output, err := p.Run(ctx, export, input, h)
		blanks := strings.Repeat(" ", int(calls.Add(1)))
		return bytes.Replace(output, []byte(`{"status":`), []byte(`{`+blanks+`"status":`), 1), err
	}, &verify.Options{Level: verify.Quick, Tools: tools})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Failures) == 0 || slices.ContainsFunc(r.Failures, func(f *verify.Failure) bool { return !strings.Contains(f.Problems[0], "the answers differ") }) {
		t.Errorf("got %+v", r)
	}
}
