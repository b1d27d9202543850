package wasmedit_test

import (
	"slices"
	"testing"

	"github.com/tetratelabs/wazero/api"

	"github.com/parley-wasm/parley/host/internal/engine/wasmtest"
	"github.com/parley-wasm/parley/host/wasmedit"
)

// own is the index of the first global that is not imported.
const own = hostGlobals

func TestInstrumentResult(t *testing.T) {
	mutable := func(t wasmedit.ValueType, value ...any) func(*wasmtest.Sections) {
		return func(s *wasmtest.Sections) {
			s.Globals = append(s.Globals, wasmtest.GlobalEntry(wasmedit.Global{Type: t, Mutable: true}, bin(value...)))
		}
	}
	code := func(parts ...any) func(*wasmtest.Sections) {
		return func(s *wasmtest.Sections) { add(s, "g", wasmtest.Void, nil, parts...) }
	}
	for _, c := range []struct {
		name   string
		change func(*wasmtest.Sections)
		want   wasmedit.Instrumented
	}{
		{"nothing", func(*wasmtest.Sections) {}, wasmedit.Instrumented{}},
		{"a start function", func(s *wasmtest.Sections) { s.Start = wasmtest.Index(itself) }, wasmedit.Instrumented{Start: true}},
		{"a start function of the host", func(s *wasmtest.Sections) { s.Start = wasmtest.Index(hostNop) }, wasmedit.Instrumented{Start: true}},
		{"_initialize", func(s *wasmtest.Sections) { add(s, "_initialize", wasmtest.Void, nil) }, wasmedit.Instrumented{Start: true}},
		{"_initialize of the host", func(s *wasmtest.Sections) {
			s.Exports = append(s.Exports, wasmtest.ExportEntry("_initialize", wasmedit.KindFunc, hostNop))
		}, wasmedit.Instrumented{Start: true}},
		{"a global", mutable(i32, 0x41, 0), wasmedit.Instrumented{Globals: true}},
		{"a reference", mutable(externref, 0xd0, externref), wasmedit.Instrumented{Globals: true}},
		{"a constant", func(s *wasmtest.Sections) {
			s.Globals = [][]byte{wasmtest.GlobalEntry(wasmedit.Global{Type: i32}, wasmtest.I32(1))}
		}, wasmedit.Instrumented{}},
		{"a global of the host", code(0x42, 1, 0x24, hostCounter), wasmedit.Instrumented{}},
		{"memory operations", code(three(0, 0, 0), 0xfc, 0x0b, 0, three(0, 0, 0), 0xfc, 0x0a, 0, 0, three(0, 0, 0), 0xfc, 0x08, 0, 0), wasmedit.Instrumented{}},
		{"reading of a table", code(0x41, 0, 0x25, 0, 0x1a, 0xfc, 0x10, 0, 0x1a), wasmedit.Instrumented{}},
		{"data.drop", code(0xfc, 0x09, 0), wasmedit.Instrumented{Volatile: true}},
		{"elem.drop", code(0xfc, 0x0d, 0), wasmedit.Instrumented{Volatile: true}},
		{"table.set", code(0x41, 0, 0xd0, funcref, 0x26, 0), wasmedit.Instrumented{Volatile: true}},
		{"table.init", code(three(0, 0, 0), 0xfc, 0x0c, 0, 0), wasmedit.Instrumented{Volatile: true}},
		{"table.copy", code(three(0, 0, 0), 0xfc, 0x0e, 0, 0), wasmedit.Instrumented{Volatile: true}},
		{"table.fill", code(0x41, 0, 0xd0, funcref, 0x41, 0, 0xfc, 0x11, 0), wasmedit.Instrumented{Volatile: true}},
		{"table.grow", code(0xd0, funcref, 0x41, 0, 0xfc, 0x0f, 0, 0x1a), wasmedit.Instrumented{Volatile: true}},
		{"all", func(s *wasmtest.Sections) {
			s.Start = wasmtest.Index(itself)
			mutable(i32, 0x41, 0)(s)
			code(0xfc, 0x09, 0)(s)
		}, wasmedit.Instrumented{Start: true, Globals: true, Volatile: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := metered{}.module()
			c.change(s)
			g, found := load(t, s)
			if found != c.want {
				t.Errorf("found %+v, want %+v", found, c.want)
			}
			for name, want := range map[string]bool{
				wasmedit.ExportStart: found.Start, wasmedit.ExportSave: found.Globals, wasmedit.ExportRestore: found.Globals, "_initialize": false,
			} {
				if (g.ExportedFunction(name) != nil) != want {
					t.Errorf("exports %s: %v, want %v", name, !want, want)
				}
			}
		})
	}
}

// globalsModule returns a module with a mutable global of each type. Its function "set"
// sets all of them from its parameters, and "get" returns them.
func globalsModule() *wasmtest.Sections {
	s := withHost()
	types := list(i32, i64, f32, f64, v128, funcref, externref)
	values := [][]byte{
		wasmtest.I32(-1), wasmtest.I64(-2), bin(0x43, 1, 2, 3, 4), bin(0x44, 1, 2, 3, 4, 5, 6, 7, 8),
		bin(0xfd, 0x0c, "0123456789abcdef"), bin(0xd2, down), bin(0xd0, externref),
	}
	to := [][]byte{ // code that converts the parameter to each type
		nil, bin(0xac), bin(0xb2), bin(0xb7), bin(0xfd, 0x11),
		bin(0x25, 0),       // the element of the table
		bin(0x1a, 0x20, 1), // the other parameter
	}
	var set, get []byte
	for n, t := range types {
		s.Globals = append(s.Globals, wasmtest.GlobalEntry(wasmedit.Global{Type: t, Mutable: true}, values[n]))
		set = bin(set, 0x20, 0, to[n], 0x24, own+n)
		get = bin(get, 0x23, own+n)
	}
	s.Globals = append(s.Globals, wasmtest.GlobalEntry(wasmedit.Global{Type: i32}, wasmtest.I32(5)))
	set = bin(set, wasmtest.I64(1), 0x24, hostCounter)
	add(s, "set", wasmedit.FuncType{Params: list(i32, externref)}, nil, set)
	add(s, "get", wasmedit.FuncType{Results: types}, nil, get)
	s.Tables = [][]byte{bin(funcref, 1, 3, 3)}
	s.Elements = [][]byte{bin(0, 0x41, 1, 0x0b, 2, down, down+1)}
	return s
}

func TestRestore(t *testing.T) {
	g, found := load(t, globalsModule())
	if !found.Globals {
		t.Fatal("no mutable globals were found")
	}
	g.fuel.Set(plenty)
	get := func() []uint64 {
		t.Helper()
		values, err := g.call("get")
		if err != nil || len(values) != 8 {
			t.Fatal(values, err)
		}
		values[0] &= 1<<32 - 1
		values[2] &= 1<<32 - 1
		return values
	}
	call := func(name string, args ...uint64) {
		t.Helper()
		if _, err := g.call(name, args...); err != nil {
			t.Fatal(err)
		}
	}
	differ := func(a, b []uint64) {
		t.Helper()
		for n := range a {
			if a[n] == b[n] {
				t.Errorf("word %d is %x in both", n, a[n])
			}
		}
	}
	first := get()
	call(wasmedit.ExportSave)
	if !slices.Equal(first, get()) {
		t.Errorf("save changes %x to %x", first, get())
	}
	call("set", 2, 77)
	second := get()
	differ(first, second)
	call(wasmedit.ExportRestore)
	if !slices.Equal(first, get()) {
		t.Errorf("restored %x, want %x", get(), first)
	}
	call("set", 2, 77)
	call(wasmedit.ExportSave)
	call("set", 0, 0)
	differ(second, get())
	for range 2 {
		call(wasmedit.ExportRestore)
		if !slices.Equal(second, get()) {
			t.Errorf("restored %x, want %x", get(), second)
		}
	}
}

// TestRestoreLeavesImports checks that imported globals are not restored.
func TestRestoreLeavesImports(t *testing.T) {
	g, _ := load(t, globalsModule())
	g.fuel.Set(plenty)
	counter := g.host.ExportedGlobal("counter").(api.MutableGlobal)
	for _, name := range []string{wasmedit.ExportSave, "set", wasmedit.ExportRestore} {
		args := []uint64{2, 0}
		if name != "set" {
			args = nil
		}
		if _, err := g.call(name, args...); err != nil {
			t.Fatal(err)
		}
	}
	if counter.Get() != 1 {
		t.Errorf("the host's global is %d, want what the module set, 1", counter.Get())
	}
	counter.Set(3)
	if _, err := g.call(wasmedit.ExportRestore); err != nil || counter.Get() != 3 {
		t.Errorf("the host's global is %d, %v; want what the host set, 3", counter.Get(), err)
	}
}

// TestStart checks that the start function and _initialize run in this order and only
// when the host calls ExportStart, and that both use fuel.
func TestStart(t *testing.T) {
	digit := func(d int) []byte { return bin(0x23, own, 0x41, 10, 0x6c, 0x41, d, 0x6a, 0x24, own) }
	for _, c := range []struct {
		name              string
		start, initialize bool
		want              uint64
		units             int64
	}{
		{"start", true, false, 1, 7 + chargeUnits},
		{"_initialize", false, true, 2, 7 + chargeUnits},
		{"both", true, true, 12, 2 * (7 + chargeUnits)},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := withHost()
			s.Globals = [][]byte{wasmtest.GlobalEntry(wasmedit.Global{Type: i32, Mutable: true}, wasmtest.I32(0))}
			s.Exports = [][]byte{wasmtest.ExportEntry("order", wasmedit.KindGlobal, own)}
			add(s, "", wasmtest.Void, nil, digit(1))
			name := ""
			if c.initialize {
				name = "_initialize"
			}
			add(s, name, wasmtest.Void, nil, digit(2))
			if c.start {
				s.Start = wasmtest.Index(hostFuncs)
			}
			g, _ := load(t, s)
			order := g.ExportedGlobal("order")
			if order.Get() != 0 {
				t.Error("a start function ran at instantiation")
			}
			if used, err := g.callWithFuel(plenty, wasmedit.ExportStart); err != nil || used != c.units {
				t.Errorf("used %d, %v; want %d", used, err, c.units)
			}
			if order.Get() != c.want {
				t.Errorf("the order is %d, want %d", order.Get(), c.want)
			}
			if _, err := g.callWithFuel(c.units-1, wasmedit.ExportStart); !unreachable(err) {
				t.Errorf("with too little fuel: %v", err)
			}
		})
	}
}

// TestInstrumentTwice checks that Instrument refuses an instrumented module.
func TestInstrumentTwice(t *testing.T) {
	once, err := instrument(globalsModule().Encode())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := instrument(once); err == nil {
		t.Error("an instrumented module was instrumented again")
	}
}
