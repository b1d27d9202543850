package wasmedit_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/parley-wasm/parley/host/wasmedit"
)

// outcome is the observable result of a module's calls.
type outcome struct {
	started string // error of the start function or of _initialize
	calls   []string
	state   string // memory and globals
	usage   []usage
}

// usage is the cost of a call: fuel, or counted instructions.
type usage struct {
	returned       bool
	fuel           int64 // for an instrumented module
	count, charges int64 // for a counting module
}

// failure returns the reason of a trap, without the stack trace.
func failure(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	_, text, _ = strings.Cut(text, "wasm error: ")
	return text
}

// start calls ExportStart if the module is instrumented, else _initialize. It returns
// the error as text.
func (g *guest) start() string {
	name := "_initialize"
	if g.fuel != nil {
		g.fuel.Set(plenty)
		name = wasmedit.ExportStart
	}
	if f := g.ExportedFunction(name); f != nil {
		if _, err := f.Call(context.Background()); err != nil {
			return failure(err)
		}
	}
	return ""
}

// runCalls makes the calls of a generated module.
func (g *guest) runCalls(m *generated) (o outcome) {
	counter := func(name string) api.MutableGlobal {
		c, _ := g.ExportedGlobal(name).(api.MutableGlobal)
		return c
	}
	count, charges := counter(wasmedit.ExportCount), counter(wasmedit.ExportCharges)
	for _, c := range m.calls {
		g.ExportedGlobal("budget").(api.MutableGlobal).Set(40)
		if g.fuel != nil {
			g.fuel.Set(plenty)
		}
		if count != nil {
			count.Set(0)
			charges.Set(0)
		}
		f := g.ExportedFunction(c.name)
		results, err := f.Call(context.Background(), c.args...)
		s := usage{returned: err == nil}
		if err != nil {
			o.calls = append(o.calls, failure(err))
		} else {
			o.calls = append(o.calls, fmt.Sprintf("%x", comparable(f.Definition().ResultTypes(), results)))
		}
		if g.fuel != nil {
			s.fuel = plenty - int64(g.fuel.Get())
		}
		if count != nil {
			s.count, s.charges = int64(count.Get()), int64(charges.Get())
		}
		o.usage = append(o.usage, s)
	}
	o.state = g.state(m)
	return o
}

// state returns everything that calls can change.
func (g *guest) state(m *generated) string {
	var b strings.Builder
	size := g.Memory().Size()
	memory, _ := g.Memory().Read(0, size)
	// Most of the memory is never used.
	fmt.Fprintf(&b, "%d %x", size, bytes.TrimRight(memory, "\x00"))
	fmt.Fprintf(&b, " host %x", g.host.ExportedGlobal("counter").Get())
	for _, name := range m.getters {
		if g.fuel != nil {
			g.fuel.Set(plenty)
		}
		f := g.ExportedFunction(name)
		value, err := f.Call(context.Background())
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(&b, " %s %x", name, comparable(f.Definition().ResultTypes(), value))
	}
	return b.String()
}

// harness compiles modules and runs their calls.
type harness struct {
	t       *testing.T
	runtime wazero.Runtime
}

func (w *harness) compile(what string, wasm []byte) wazero.CompiledModule {
	w.t.Helper()
	c, err := w.runtime.CompileModule(context.Background(), wasm)
	if err != nil {
		w.t.Fatalf("%s: %v", what, err)
	}
	w.t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// run starts an instance and makes the calls of a generated module.
func (w *harness) run(compiled wazero.CompiledModule, m *generated) (o outcome) {
	w.t.Helper()
	g, err := instantiate(w.runtime, compiled)
	if err != nil {
		return outcome{started: failure(err)}
	}
	defer g.close()
	if failed := g.start(); failed != "" {
		return outcome{started: failed}
	}
	return g.runCalls(m)
}

func (w *harness) same(what string, want, got outcome) {
	w.t.Helper()
	if want.started != got.started || !slices.Equal(want.calls, got.calls) || want.state != got.state {
		w.t.Errorf("%s:\n%s %q\n%s\nwant\n%s %q\n%s", what, got.started, got.calls, got.state, want.started, want.calls, want.state)
	}
}

// fuzzRuntime returns a runtime for all modules of a fuzz test.
func fuzzRuntime(f *testing.F) wazero.Runtime {
	r := wazero.NewRuntimeWithConfig(context.Background(), wazero.NewRuntimeConfig().WithMemoryLimitPages(16))
	f.Cleanup(func() { _ = r.Close(context.Background()) })
	return r
}

// FuzzInstrument instruments generated modules. Their results must not change. The fuel
// that a call uses must be deterministic, must cover the executed instructions, and
// must suffice for the same call. After a reset the calls must have the same results
// again.
func FuzzInstrument(f *testing.F) {
	for seed := range uint64(100) {
		f.Add(random(seed, 100+30*int(seed)))
	}
	r := fuzzRuntime(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		w := &harness{t, r}
		m := generate(data)
		plain := w.run(w.compile("generated", m.wasm), m)

		counting, err := wasmedit.Parse(m.wasm)
		if err != nil {
			t.Fatal(err)
		}
		longest := counting.CountInstructions()
		counted := w.run(w.compile("counting", counting.Encode()), m)
		w.same("counting", plain, counted)

		instrumented, err := wasmedit.Parse(m.wasm)
		if err != nil {
			t.Fatal(err)
		}
		found, err := instrumented.Instrument()
		if err != nil {
			t.Fatal(err)
		}
		compiled := w.compile("instrumented", instrumented.Encode())
		first := w.run(compiled, m)
		w.same("instrumented", plain, first)
		if first.started != "" {
			return
		}
		w.fuel(m, first.usage, counted.usage, longest)
		w.replay(compiled, found, m, first)
	})
}

// fuel compares the fuel that each call used with the counted instructions.
func (w *harness) fuel(m *generated, used, counted []usage, longest int64) {
	for n, u := range used {
		c := counted[n]
		atLeast := c.count + chargeUnits*c.charges
		switch {
		case m.straight && u.returned && u.fuel != atLeast:
			w.t.Errorf("call %d used %d, want %d", n, u.fuel, atLeast)
		case u.returned && u.fuel < atLeast:
			w.t.Errorf("call %d used %d, want at least %d", n, u.fuel, atLeast)
		case u.fuel < atLeast-longest: // only the path to a trap is not charged
			w.t.Errorf("call %d used %d and executed %d units until it failed; the longest function has %d", n, u.fuel, atLeast, longest)
		}
	}
}

// replay makes the first call again, with exactly the fuel that it needs and with one
// unit less. Then it makes all calls again in the reset instance.
func (w *harness) replay(compiled wazero.CompiledModule, found wasmedit.Instrumented, m *generated, first outcome) {
	g, err := instantiate(w.runtime, compiled)
	if err != nil {
		w.t.Fatal(err)
	}
	defer g.close()
	g.start()
	memory, _ := g.Memory().Read(0, g.Memory().Size())
	snapshot, counter := bytes.Clone(memory), g.host.ExportedGlobal("counter").Get()
	if _, err := g.call(wasmedit.ExportSave); err != nil {
		w.t.Fatal(err)
	}
	c, exact := m.calls[0], first.usage[0]
	restore := func() bool {
		if found.Volatile || int(g.Memory().Size()) != len(snapshot) {
			return false
		}
		g.Memory().Write(0, snapshot)
		g.host.ExportedGlobal("counter").(api.MutableGlobal).Set(counter)
		if _, err := g.call(wasmedit.ExportRestore); err != nil {
			w.t.Fatal(err)
		}
		return true
	}
	g.ExportedGlobal("budget").(api.MutableGlobal).Set(40)
	if used, err := g.callWithFuel(exact.fuel, c.name, c.args...); used != exact.fuel || (err == nil) != exact.returned {
		w.t.Errorf("with %d: used %d, %v", exact.fuel, used, err)
	}
	if !restore() {
		return
	}
	g.ExportedGlobal("budget").(api.MutableGlobal).Set(40)
	if used, err := g.callWithFuel(exact.fuel-1, c.name, c.args...); used != exact.fuel || !unreachable(err) {
		w.t.Errorf("with %d: used %d, %v", exact.fuel-1, used, err)
	}
	if !restore() {
		return
	}
	restored := g.runCalls(m)
	w.same("after the reset", first, restored)
	if !slices.Equal(restored.usage, first.usage) {
		w.t.Errorf("after the reset: used %v, want %v", restored.usage, first.usage)
	}
}
