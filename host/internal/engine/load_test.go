package engine_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/engine"
	"github.com/parley-wasm/parley/host/internal/engine/wasmtest"
	"github.com/parley-wasm/parley/host/wasmedit"
)

var i32, i64 = []wasmedit.ValueType{wasmedit.I32}, []wasmedit.ValueType{wasmedit.I64}

func TestLoad(t *testing.T) {
	t.Parallel()
	// change modifies a valid module.
	change := func(f func(m *wasmtest.Module)) []byte {
		m := wasmtest.Plugin(wasmtest.I32(0))
		f(m)
		return m.Encode()
	}
	describe := func(text string) []byte {
		return change(func(m *wasmtest.Module) { m.Funcs[0].Body = wasmtest.Code(wasmtest.SetOutput(text), wasmtest.I32(0)) })
	}
	start := func(body []byte) []byte {
		return change(func(m *wasmtest.Module) {
			m.Start = wasmtest.OwnFuncs + len(m.Funcs)
			m.Funcs = append(m.Funcs, wasmtest.Func{Type: wasmtest.Void, Locals: 2, Body: body})
		})
	}
	load := func(n int) []byte { return change(func(m *wasmtest.Module) { m.Memory = []uint32{uint32(n)} }) }
	for _, c := range []struct {
		name string
		wasm []byte
		op   string
		kind engine.Kind
		code abi.Code
		want string
	}{
		{"empty", nil, "load", engine.NotAModule, abi.InvalidArgs, "not a WebAssembly module"},
		{"text", []byte("#!/bin/sh\n"), "load", engine.NotAModule, abi.InvalidArgs, "malformed at byte 0"},
		{"truncated", wasmtest.Plugin(echo).Encode()[:300], "load", engine.NotAModule, abi.InvalidArgs, "bytes"},
		{"invalid code", change(func(m *wasmtest.Module) { m.Funcs[1].Body = wasmtest.Drop }), "load", engine.NotAModule, abi.InvalidArgs, "not valid"},
		{"too large", make([]byte, 2<<20), "load", engine.Memory, abi.Limit, "2097152 bytes; at most 1048576"},
		{"foreign import", change(func(m *wasmtest.Module) {
			m.Imports = append(m.Imports, wasmedit.Import{Module: "env", Name: "system", Type: wasmtest.HostFunction})
		}), "load", engine.BadImport, abi.InvalidArgs, "imports env.system (i64) -> (i64)"},
		{"WASI", change(func(m *wasmtest.Module) {
			m.Imports = append(m.Imports, wasmedit.Import{Module: "wasi_snapshot_preview1", Name: "fd_write", Type: wasmtest.Export})
		}), "load", engine.BadImport, abi.InvalidArgs, "no WASI"},
		{"unknown import", change(func(m *wasmtest.Module) { m.Imports = append(m.Imports, wasmtest.User("payments")) }), "load", engine.BadImport, abi.InvalidArgs, "extism:host/user.payments"},
		{"import's signature", change(func(m *wasmtest.Module) { m.Imports = append(m.Imports, wasmtest.Env("load_u8", i64, i64)) }), "load", engine.BadSignature, abi.InvalidArgs, "the signature is (i64) -> (i32)"},
		{"missing export", change(func(m *wasmtest.Module) { m.Funcs[2].Export = "resumes" }), "load", engine.MissingExport, abi.InvalidArgs, `does not export "resume"`},
		{"export's signature", change(func(m *wasmtest.Module) {
			m.Funcs[1].Type.Results = i64
			m.Funcs[1].Body = wasmtest.I64(0)
		}), "load", engine.BadSignature, abi.InvalidArgs, "exports call () -> (i64); it must be a function () -> (i32)"},
		{"export of another kind", change(func(m *wasmtest.Module) { m.Funcs[1].Type.Params = i32 }), "load", engine.BadSignature, abi.InvalidArgs, "call (i32) -> (i32)"},
		{"reactor", change(func(m *wasmtest.Module) {
			m.Funcs = append(m.Funcs, wasmtest.Func{Export: "_initialize", Type: wasmtest.Void, Body: wasmtest.Unreachable})
		}), "start", engine.Trap, abi.Internal, "unreachable"},
		{"odd reactor", change(func(m *wasmtest.Module) {
			m.Funcs = append(m.Funcs, wasmtest.Func{Export: "_initialize", Type: wasmtest.Export, Body: wasmtest.I32(0)})
		}), "load", engine.NotAModule, abi.InvalidArgs, "is not a function () -> ()"},
		{"export of the host's", change(func(m *wasmtest.Module) { m.Funcs = append(m.Funcs, wasmtest.Func{Export: "parley.fuel"}) }), "load", engine.NotAModule, abi.InvalidArgs, `exports "parley.fuel" itself`},
		{"memory at start", load(2000), "load", engine.Memory, abi.Limit, "2000 pages of memory; the limit is 1024 (64 MiB)"},
		{"table without end", change(func(m *wasmtest.Module) { m.Table = []uint32{1} }), "load", engine.Memory, abi.Limit, "give each a maximum"},
		{"start traps", start(wasmtest.Unreachable), "start", engine.Trap, abi.Internal, "unreachable"},
		{"endless start", start(wasmtest.Forever), "start", engine.Fuel, abi.Limit, "limit: fuel"},
		{"host function in start", start(wasmtest.Code(wasmtest.Block("12345678"), wasmtest.Get(0), wasmtest.Call(wasmtest.StoreHost), wasmtest.Drop)), "start", engine.Trap, abi.Internal, "no host functions"},
		{"describe traps", change(func(m *wasmtest.Module) { m.Funcs[0].Body = wasmtest.Unreachable }), "describe", engine.Trap, abi.Internal, "unreachable"},
		{"describe sets no output", change(func(m *wasmtest.Module) { m.Funcs[0].Body = wasmtest.I32(0) }), "describe", engine.BadDescription, abi.InvalidArgs, "not strict JSON"},
		{"describe is not JSON", describe(`{"abi":1,`), "describe", engine.BadDescription, abi.InvalidArgs, "not strict JSON"},
		{"describe is not an object", describe(`[1]`), "describe", engine.BadDescription, abi.InvalidArgs, "not a JSON object"},
		{"duplicate member", describe(`{"abi":1,"abi":1}`), "describe", engine.BadDescription, abi.InvalidArgs, "not strict JSON"},
		{"ABI version in upper case", describe(`{"ABI":1}`), "describe", engine.BadDescription, abi.InvalidArgs, "has no ABI version"},
		{"ABI version as a string", describe(`{"abi":"1"}`), "describe", engine.BadDescription, abi.InvalidArgs, "has no ABI version"},
		{"another version", describe(`{"abi":2}`), "describe", engine.WrongABI, abi.Unsupported, "speaks ABI version 2 and this host version 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newEngine(t, &engine.Options{Limits: engine.Limits{StepTimeout: time.Minute, ModuleBytes: 1 << 20}})
			_, err := e.Load(t.Context(), c.wasm)
			var typed *engine.Error
			if !errors.As(err, &typed) {
				t.Fatalf("got %v, want an *engine.Error", err)
			}
			if typed.Op != c.op || typed.Kind != c.kind || !errors.Is(err, c.code) {
				t.Errorf("got %s in %s (%v), want %s in %s with code %s", typed.Kind, typed.Op, err, c.kind, c.op, c.code)
			}
			if !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "engine: ") || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %q, want one line with %q", err, c.want)
			}
			// The engine still works.
			if _, err := e.Load(t.Context(), wasmtest.Plugin(echo).Encode()); err != nil {
				t.Errorf("a good module afterwards: %v", err)
			}
		})
	}
}

// TestEntryLimits checks the bounds on the number of entries in a module's sections,
// and on the size of function types.
func TestEntryLimits(t *testing.T) {
	t.Parallel()
	// sized returns a plugin to which grow has added entries up to its bound, and n
	// more.
	sized := func(n int, grow func(m *wasmtest.Module, n int)) []byte {
		m := wasmtest.Plugin(wasmtest.I32(0))
		grow(m, n)
		return m.Encode()
	}
	plain := wasmtest.Plugin(nil)
	own := len(plain.Imports) + len(plain.Funcs) // each adds one type
	declare := func(m *wasmtest.Module, params, results int) {
		m.Types = []wasmedit.FuncType{{Params: slices.Repeat(i64, params), Results: slices.Repeat(i64, results)}}
	}
	for _, c := range []struct {
		name string
		grow func(m *wasmtest.Module, more int) // adds entries up to the bound, and more entries beyond it
		want string
	}{
		{"globals", func(m *wasmtest.Module, more int) {
			m.Globals = slices.Repeat([]wasmtest.Global{{Type: wasmedit.I64, Mutable: true}}, 10_000+more)
		}, "10001 entries in the global section; at most 10000"},
		{"types", func(m *wasmtest.Module, more int) {
			m.Types = slices.Repeat([]wasmedit.FuncType{wasmtest.Void}, 10_000-own+more)
		}, "10001 entries in the type section; at most 10000"},
		{"functions", func(m *wasmtest.Module, more int) {
			m.Types = []wasmedit.FuncType{wasmtest.Void}
			m.Empty = 50_000 - len(plain.Funcs) + more
		}, "50001 entries in the function section; at most 50000"},
		{"parameters", func(m *wasmtest.Module, more int) { declare(m, 64+more, 0) }, "type 18 of the module has 65 parameters and 0 results; at most 64 and 16"},
		{"results", func(m *wasmtest.Module, more int) { declare(m, 0, 16+more) }, "has 0 parameters and 17 results; at most 64 and 16"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newEngine(t, &engine.Options{Limits: engine.Limits{StepTimeout: time.Minute}})
			if _, err := e.Load(t.Context(), sized(0, c.grow)); err != nil {
				t.Errorf("at the bound: %v", err)
			}
			_, err := e.Load(t.Context(), sized(1, c.grow))
			if !errors.Is(err, engine.Memory) || !errors.Is(err, abi.Limit) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("beyond the bound: got %v, want %q", err, c.want)
			}
		})
	}
}

// TestLoadCanceled checks that a canceled Load closes what it has loaded so far.
func TestLoadCanceled(t *testing.T) {
	t.Parallel()
	e := newEngine(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wasm := wasmtest.Plugin(echo).Encode()
	for range 20 { // Close would fail at random if it got this context
		if _, err := e.Load(ctx, wasm); !errors.Is(err, engine.Canceled) || strings.Contains(err.Error(), "close plugin") {
			t.Fatalf("got %v, want only Canceled", err)
		}
	}
}

// TestCompilationTimeout checks that a timeout or the caller's deadline stops the
// compilation.
func TestCompilationTimeout(t *testing.T) {
	t.Parallel()
	m := wasmtest.Plugin(wasmtest.I32(0))
	branches := bytes.Repeat([]byte{0x41, 0, 0x0d, 0}, 3000) // i32.const 0, br_if 0
	for range 300 {
		m.Funcs = append(m.Funcs, wasmtest.Func{Type: wasmtest.Void, Body: branches})
	}
	wasm := m.Encode()
	for _, c := range []struct {
		name                string
		caller, compilation time.Duration
		want                engine.Kind
		text                string
	}{
		{"the compilation times out", time.Hour, 10 * time.Millisecond, engine.Time, "limit: time: the module takes longer than 10ms to compile"},
		{"the caller's deadline passes", 10 * time.Millisecond, time.Hour, engine.Canceled, "the caller's deadline has passed"},
	} {
		e := newEngine(t, &engine.Options{Limits: engine.Limits{Compilation: c.compilation}})
		ctx, cancel := context.WithTimeout(t.Context(), c.caller)
		_, err := e.Load(ctx, wasm)
		cancel()
		// Op is not "load" if the module was compiled and started.
		if e, ok := errors.AsType[*engine.Error](err); !ok || e.Op != "load" || e.Kind != c.want || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
}

func TestCache(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cache")
	wasm := wasmtest.Plugin(echo).Encode()
	for range 2 {
		e := newEngine(t, &engine.Options{CacheDir: dir})
		if _, err := e.Load(t.Context(), wasm); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the cache is empty: %v", err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := engine.New(t.Context(), &engine.Options{CacheDir: dir}); err == nil || !strings.Contains(err.Error(), "chmod o-w") {
		t.Errorf("a world-writable cache: %v", err)
	}
	if _, err := engine.New(t.Context(), &engine.Options{CacheDir: files[0]}); err == nil || !strings.Contains(err.Error(), "cache directory") {
		t.Errorf("a cache that is a file: %v", err)
	}
}

func TestCacheDamaged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	wasm := wasmtest.Plugin(echo).Encode()
	load := func() error {
		_, err := newEngine(t, &engine.Options{CacheDir: dir, Logger: slog.New(slog.DiscardHandler)}).Load(t.Context(), wasm)
		return err
	}
	if err := load(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the cache is empty: %v", err)
	}
	for _, damage := range []struct {
		name string
		do   func([]byte) []byte
	}{
		{"truncated", func(b []byte) []byte { return b[:len(b)/2] }},
		{"empty", func(b []byte) []byte { return nil }},
		{"overwritten", func(b []byte) []byte { return []byte(strings.Repeat("x", len(b))) }},
	} {
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(f, damage.do(b), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := load(); err != nil {
			t.Errorf("%s: %v", damage.name, err)
		}
	}
}

func TestInspect(t *testing.T) {
	t.Parallel()
	m := wasmtest.Plugin(echo)
	m.Imports = append(m.Imports, wasmedit.Import{Module: "wasi_snapshot_preview1", Name: "fd_write", Type: wasmtest.Export})
	i, err := engine.Inspect(m.Encode())
	if err != nil {
		t.Fatal(err)
	}
	if last := i.Imports[len(i.Imports)-1]; last != "wasi_snapshot_preview1.fd_write () -> (i32)" {
		t.Errorf("the last import is %s", last)
	}
	if i.Size != len(m.Encode()) || len(i.SHA256) != 64 || i.Memory == nil || i.Memory.Min != 1 || i.Start || len(i.Exports) != 4 {
		t.Errorf("got %+v", i)
	}
	if _, err := engine.Inspect([]byte("hello")); !errors.Is(err, engine.NotAModule) {
		t.Errorf("a text: %v", err)
	}
}
