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

// deliberate are the reasons for which a module is refused though the engine may
// take it.
var knownRefusals = []string{
	// What Harden adds would clash with it.
	"the module exports \"parley.",
	"the export _initialize ",
	// The engine takes more locals than others do.
	"local variables, more than", "local variables in all functions",
	// The engine would read other instructions than this package does.
	"is not in its shortest form", "unknown instruction 0xfd",
	// Types of WebAssembly 3.0, some of which the engine reads though they are not
	// enabled; and it takes any type for that of an imported table.
	"unknown value type", "unknown block type", "is not a reference type",
}

func isKnownRefusal(reason string) bool {
	return slices.ContainsFunc(knownRefusals, func(d string) bool { return strings.Contains(reason, d) })
}

// longNumber finds a number of at least four bytes. The engine believes a module's
// numbers of elements, locals and names, and makes room for as many.
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

// accepts says whether the engine compiles a module.
func accepts(r wazero.Runtime, wasm []byte) (compiled wazero.CompiledModule, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the engine panics: %v", p)
		}
	}()
	return r.CompileModule(context.Background(), wasm)
}

// FuzzHardenBytes feeds any bytes. What the engine takes, is hardened and taken
// again, or refused for a known reason; nothing takes much memory; and what is
// hardened ends.
func FuzzInstrumentBytes(f *testing.F) {
	addSeeds(f)
	r := fuzzRuntime(f)
	f.Fuzz(func(t *testing.T, wasm []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		instrumented, refused := instrument(wasm)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20+200*uint64(len(wasm)) {
			t.Errorf("%d bytes are taken for a module of %d", took, len(wasm))
		}
		if refused != nil {
			checkRefusal(t, r, wasm, refused)
			return
		}
		m, err := wasmedit.Parse(wasm)
		if err != nil {
			t.Fatal(err)
		}
		m.DropCustoms() // the engine refuses modules for what is in them
		plain, want := accepts(r, m.Encode())
		if want == nil {
			defer func() { _ = plain.Close(context.Background()) }()
		}
		compiled, err := accepts(r, instrumented)
		if (want == nil) != (err == nil) {
			t.Fatalf("%v, hardened: %v", want, err)
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
		return // the engine takes a data count that is cut off
	}
	if c, err := accepts(r, wasm); err == nil {
		_ = c.Close(context.Background())
		t.Errorf("the engine takes what is refused: %v", refused)
	}
}

// ends calls what a module exports with little fuel. Where that did not bound it,
// the test would not end.
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
