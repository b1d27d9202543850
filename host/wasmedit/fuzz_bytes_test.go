package wasmedit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/parley-wasm/parley/host/internal/engine/wasmtest"
	"github.com/parley-wasm/parley/host/wasmedit"
)

// knownRefusals are parts of the errors with which Parse and Instrument refuse modules
// that the engine may accept.
var knownRefusals = []string{
	// Names that collide with additions.
	"the module exports \"parley.",
	"the export _initialize ",
	// More locals than other engines accept.
	"local variables, more than", "local variables in all functions",
	// Encodings that the engine interprets as other instructions.
	"is not in its shortest form", "unknown instruction 0xfd",
	// Types of WebAssembly 3.0. The engine reads some of them although they are not
	// enabled, and accepts any type for an imported table.
	"unknown value type", "unknown block type", "is not a reference type",
}

func isKnownRefusal(reason string) bool {
	return slices.ContainsFunc(knownRefusals, func(d string) bool { return strings.Contains(reason, d) })
}

// longNumber reports whether a module may contain an encoded number of at least four
// bytes. The engine trusts counts of elements, locals and names, and allocates memory
// for them.
func longNumber(wasm []byte) bool {
	length := 0
	for _, b := range wasm {
		if length++; b < 0x80 {
			length = 0
		}
		if length == 3 {
			return true
		}
	}
	return false
}

// accepts returns the module compiled by the engine, or the engine's error or panic.
func accepts(r wazero.Runtime, wasm []byte) (compiled wazero.CompiledModule, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the engine panics: %v", p)
		}
	}()
	return r.CompileModule(context.Background(), wasm)
}

// FuzzInstrumentBytes instruments arbitrary bytes. Each module that the engine accepts
// must be refused for a known reason, or the engine must accept the instrumented
// module. Memory must stay bounded, and every call of an instrumented module must end.
func FuzzInstrumentBytes(f *testing.F) {
	addSeeds(f)
	r := fuzzRuntime(f)
	f.Fuzz(func(t *testing.T, wasm []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		instrumented, refused := instrument(wasm)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20+200*uint64(len(wasm)) {
			t.Errorf("%d bytes were allocated for a module of %d bytes", took, len(wasm))
		}
		if refused != nil {
			checkRefusal(t, r, wasm, refused)
			return
		}
		m, err := wasmedit.Parse(wasm)
		if err != nil {
			t.Fatal(err)
		}
		m.DropCustoms() // the engine may reject the original module because of its custom sections
		plain, want := accepts(r, m.Encode())
		if want == nil {
			defer func() { _ = plain.Close(context.Background()) }()
		}
		compiled, err := accepts(r, instrumented)
		if (want == nil) != (err == nil) {
			t.Fatalf("%v, instrumented: %v", want, err)
		}
		if err == nil {
			defer func() { _ = compiled.Close(context.Background()) }()
			callExports(r, m, compiled)
		}
	})
}

func checkRefusal(t *testing.T, r wazero.Runtime, wasm []byte, refused error) {
	t.Helper()
	var e *wasmedit.Error
	if !errors.As(refused, &e) || e.Offset < 0 || e.Offset > len(wasm) {
		t.Fatalf("refused by %#v", refused)
	}
	if e.Large || isKnownRefusal(e.Reason) || longNumber(wasm) {
		return
	}
	if e.Offset == len(wasm) && strings.Contains(e.Reason, "ends too early") {
		return // the engine accepts a truncated data count
	}
	if c, err := accepts(r, wasm); err == nil {
		_ = c.Close(context.Background())
		t.Errorf("the engine accepts a module that was refused: %v", refused)
	}
}

// callExports calls up to eight exports of a module with little fuel. If the fuel did
// not bound the calls, the test would not end.
func callExports(r wazero.Runtime, m *wasmedit.Module, compiled wazero.CompiledModule) {
	for _, table := range m.Tables {
		if table.Min > 1000 || !table.HasMax || table.Max > 1000 {
			return
		}
	}
	g, err := instantiate(r, compiled)
	if err != nil {
		return
	}
	defer g.close()
	calls := 0
	for name, f := range compiled.ExportedFunctions() {
		if calls++; calls > 8 {
			return
		}
		words := 0
		for _, t := range f.ParamTypes() {
			if words++; t == api.ValueType(v128) {
				words++
			}
		}
		_, _ = g.callWithFuel(20_000, name, make([]uint64, words)...)
	}
}

// addSeeds adds small modules of many kinds, and the plugin.
func addSeeds(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(generate(random(seed, 300)).wasm)
	}
	for _, c := range refusals() {
		f.Add(c.wasm)
	}
	for _, c := range meteredFunctions {
		f.Add(c.module().Encode())
	}
	f.Add(globalsModule().Encode())
	f.Add(sample().Encode())
	hostile := wasmtest.Plugin(wasmtest.Code(wasmtest.Forever, wasmtest.I32(0)))
	f.Add(hostile.Encode())
	plugin, err := os.ReadFile(filepath.Join("..", "..", "plugin", "wasm", "parley.wasm"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(plugin)
	files, err := filepath.Glob(filepath.Join(suite(f), "v2", "testdata", "*.wasm"))
	if err != nil || len(files) < 1000 {
		f.Fatalf("%d modules of the official suite, %v", len(files), err)
	}
	for n := 0; n < len(files); n += 20 {
		wasm, err := os.ReadFile(files[n])
		if err != nil {
			f.Fatal(err)
		}
		if len(wasm) < 4<<10 && bytes.HasPrefix(wasm, []byte("\x00asm")) {
			f.Add(wasm)
		}
	}
}
