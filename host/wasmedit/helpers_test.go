package wasmedit_test

import (
	"context"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/parley-wasm/parley/host/internal/engine/wasmtest"
	"github.com/parley-wasm/parley/host/wasmedit"
)

// Abbreviations of the types.
const (
	i32 = wasmedit.I32
	i64 = wasmedit.I64
	f32 = wasmedit.F32
	f64 = wasmedit.F64
	v128,
	funcref, externref = wasmedit.V128, wasmedit.FuncRef, wasmedit.ExternRef
)

func list(types ...wasmedit.ValueType) []wasmedit.ValueType { return types }

// bin concatenates bytes, numbers below 256, strings and byte slices.
func bin(parts ...any) []byte {
	var b []byte
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			b = append(b, byte(p))
		case byte:
			b = append(b, p)
		case wasmedit.ValueType:
			b = append(b, byte(p))
		case string:
			b = append(b, p...)
		case []byte:
			b = append(b, p...)
		default:
			panic(p)
		}
	}
	return b
}

// Indices of the functions that the module host exports.
const (
	hostNop    = iota // () -> ()
	hostDouble        // (i32) -> (i32): twice the number
	hostFuncs
)

// Indices of the globals that the module host exports.
const (
	hostCounter = iota // mutable i64
	hostLimit          // i32
	hostGlobals
)

// host returns the module "host". It is a WebAssembly module, because host modules of
// the engine cannot export globals. Its table contains nop.
func host() []byte {
	s := wasmtest.Sections{
		Types: [][]byte{
			wasmtest.Signature(wasmtest.Void),
			wasmtest.Signature(wasmedit.FuncType{Params: list(i32), Results: list(i32)}),
		},
		Funcs: [][]byte{{0}, {1}},
		Globals: [][]byte{
			wasmtest.GlobalEntry(wasmedit.Global{Type: i64, Mutable: true}, wasmtest.I64(7)),
			wasmtest.GlobalEntry(wasmedit.Global{Type: i32}, wasmtest.I32(3)),
		},
		Tables:   [][]byte{bin(funcref, 0, 1)},
		Elements: [][]byte{bin(0, 0x41, 0, 0x0b, 1, hostNop)},
		Exports: [][]byte{
			wasmtest.ExportEntry("nop", wasmedit.KindFunc, hostNop),
			wasmtest.ExportEntry("double", wasmedit.KindFunc, hostDouble),
			wasmtest.ExportEntry("counter", wasmedit.KindGlobal, hostCounter),
			wasmtest.ExportEntry("limit", wasmedit.KindGlobal, hostLimit),
			wasmtest.ExportEntry("table", wasmedit.KindTable, 0),
		},
		Codes: [][]byte{wasmtest.CodeEntry(nil, nil), wasmtest.CodeEntry(nil, bin(0x20, 0, 0x20, 0, 0x6a))},
	}
	return s.Encode()
}

// withHost returns a module that imports the functions and globals of host. The first
// two types are the types of these functions.
func withHost() *wasmtest.Sections {
	return &wasmtest.Sections{
		Types: [][]byte{
			wasmtest.Signature(wasmtest.Void),
			wasmtest.Signature(wasmedit.FuncType{Params: list(i32), Results: list(i32)}),
		},
		Imports: [][]byte{
			wasmtest.ImportEntry("host", "nop", wasmedit.KindFunc, 0),
			wasmtest.ImportEntry("host", "double", wasmedit.KindFunc, 1),
			wasmtest.ImportEntry("host", "counter", wasmedit.KindGlobal, byte(i64), 1),
			wasmtest.ImportEntry("host", "limit", wasmedit.KindGlobal, byte(i32), 0),
		},
	}
}

// add adds a function, and exports it if it has a name.
func add(s *wasmtest.Sections, name string, t wasmedit.FuncType, locals []wasmedit.ValueType, code ...any) {
	s.Types = append(s.Types, wasmtest.Signature(t))
	s.Funcs = append(s.Funcs, wasmtest.Index(len(s.Types)-1))
	s.Codes = append(s.Codes, wasmtest.CodeEntry(locals, bin(code...)))
	if name != "" {
		s.Exports = append(s.Exports, wasmtest.ExportEntry(name, wasmedit.KindFunc, hostFuncs+len(s.Funcs)-1))
	}
}

// guest is an instance of a module, instrumented or not, and the instance of host that
// it imports.
type guest struct {
	api.Module
	host          api.Module
	fuel, reserve api.MutableGlobal // nil if the module is not instrumented
}

func newRuntime(t testing.TB) wazero.Runtime {
	t.Helper()
	r := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfig().WithMemoryLimitPages(16))
	t.Cleanup(func() { _ = r.Close(context.Background()) })
	return r
}

// instantiate creates an instance. The caller must close it before it creates another
// one in the same runtime.
func instantiate(r wazero.Runtime, compiled wazero.CompiledModule) (*guest, error) {
	ctx := context.Background()
	h, err := r.InstantiateWithConfig(ctx, host(), wazero.NewModuleConfig().WithName("host"))
	if err != nil {
		return nil, err
	}
	m, err := r.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithName("guest"))
	if err != nil {
		_ = h.Close(ctx)
		return nil, err
	}
	g := &guest{Module: m, host: h}
	g.fuel, _ = m.ExportedGlobal(wasmedit.ExportFuel).(api.MutableGlobal)
	g.reserve, _ = m.ExportedGlobal(wasmedit.ExportReserve).(api.MutableGlobal)
	return g, nil
}

func (g *guest) close() {
	_ = g.Close(context.Background())
	_ = g.host.Close(context.Background())
}

func (g *guest) call(name string, args ...uint64) ([]uint64, error) {
	return g.ExportedFunction(name).Call(context.Background(), args...)
}

// callWithFuel calls a function with this much fuel, and returns the used fuel.
func (g *guest) callWithFuel(fuel int64, name string, args ...uint64) (used int64, err error) {
	g.fuel.Set(uint64(fuel))
	_, err = g.call(name, args...)
	return fuel - int64(g.fuel.Get()), err
}

// load instruments a module and starts an instance of it.
func load(t *testing.T, s *wasmtest.Sections) (*guest, wasmedit.Instrumented) {
	t.Helper()
	m, err := wasmedit.Parse(s.Encode())
	if err != nil {
		t.Fatal(err)
	}
	found, err := m.Instrument()
	if err != nil {
		t.Fatal(err)
	}
	r := newRuntime(t)
	compiled, err := r.CompileModule(t.Context(), m.Encode())
	if err != nil {
		t.Fatal(err)
	}
	g, err := instantiate(r, compiled)
	if err != nil {
		t.Fatal(err)
	}
	return g, found
}

// unreachable reports whether a call ended with the trap unreachable, as it does when
// the fuel is exhausted.
func unreachable(err error) bool {
	return err != nil && strings.HasPrefix(err.Error(), "wasm error: unreachable")
}
