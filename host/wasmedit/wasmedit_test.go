package wasmedit_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/host/internal/engine/wasmtest"
	"github.com/parley-wasm/parley/host/wasmedit"
)

func sample() *wasmtest.Module {
	m := wasmtest.Plugin(wasmtest.I32(0))
	m.Funcs = append(m.Funcs,
		wasmtest.Func{Export: "_initialize", Type: wasmtest.Void},
		wasmtest.Func{Export: "odd", Type: wasmtest.HostFunction, Body: wasmtest.Get(0)})
	m.Memory, m.Table, m.Data = []uint32{2, 9}, []uint32{1, 1}, "data"
	return m
}

func TestParse(t *testing.T) {
	m, err := wasmedit.Parse(sample().Encode())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := m.Imports[0].String(), "extism:host/env.alloc (i64) -> (i64)"; got != want {
		t.Errorf("first import is %q, want %q", got, want)
	}
	var names []string
	for _, e := range m.Exports {
		names = append(names, e.String())
	}
	want := []string{"describe () -> (i32)", "call () -> (i32)", "resume () -> (i32)", "_initialize () -> ()", "odd (i64) -> (i64)", "memory memory"}
	if !slices.Equal(names, want) {
		t.Errorf("exports are %q, want %q", names, want)
	}
	if mem := m.Memories[0]; mem.Min != 2 || mem.Max != 9 || !mem.HasMax {
		t.Errorf("memory is %+v", mem)
	}
	if m.Start != nil {
		t.Errorf("the start function is %d, want none", *m.Start)
	}
}

func TestEncodeKeepsBytes(t *testing.T) {
	wasm := sample().Encode()
	m, err := wasmedit.Parse(wasm)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(m.Encode(), wasm) {
		t.Error("an unchanged module is encoded differently")
	}
}

func TestStartFromExport(t *testing.T) {
	m, err := wasmedit.Parse(sample().Encode())
	if err != nil {
		t.Fatal(err)
	}
	index := m.Export("_initialize").Index
	if err := m.StartFromExport("_initialize"); err != nil {
		t.Fatal(err)
	}
	reparsed, err := wasmedit.Parse(m.Encode())
	if err != nil {
		t.Fatalf("the edited module: %v", err)
	}
	if reparsed.Start == nil || *reparsed.Start != index {
		t.Errorf("start is %v, want %d", reparsed.Start, index)
	}
	if reparsed.Export("_initialize") != nil || reparsed.Export("call") == nil || len(reparsed.Exports) != 5 {
		t.Errorf("exports are %v", reparsed.Exports)
	}
	for name, want := range map[string]string{
		"nothing": "no export", "odd": "cannot be a start function", "memory": "cannot be a start function",
	} {
		if err := reparsed.StartFromExport(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("StartFromExport(%q) = %v, want %q", name, err, want)
		}
	}
	if err := m.StartFromExport("_initialize"); err == nil {
		t.Error("a dropped export became the start function again")
	}
}

func TestKeepExports(t *testing.T) {
	m, err := wasmedit.Parse(sample().Encode())
	if err != nil {
		t.Fatal(err)
	}
	m.KeepExports("memory", "call", "nothing")
	reparsed, err := wasmedit.Parse(m.Encode())
	if err != nil {
		t.Fatalf("the edited module: %v", err)
	}
	if len(reparsed.Exports) != 2 || reparsed.Export("call") == nil || reparsed.Export("memory") == nil {
		t.Errorf("exports are %v", reparsed.Exports)
	}
}

func TestSecondStart(t *testing.T) {
	s := sample()
	s.Start = wasmtest.OwnFuncs + 3
	m, err := wasmedit.Parse(s.Encode())
	if err != nil {
		t.Fatal(err)
	}
	if err := m.StartFromExport("_initialize"); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("got %v, want a refusal of the second start function", err)
	}
}

func TestMalformed(t *testing.T) {
	const head = "\x00asm\x01\x00\x00\x00"
	for _, c := range []struct {
		name, wasm, want string
		offset           int
	}{
		{"empty", "", "not a WebAssembly module", 0},
		{"text", "(module)", "not a WebAssembly module", 0},
		{"short", "\x00asm\x01", "ends inside its header", 5},
		{"component", "\x00asm\x0d\x00\x01\x00", "component", 4},
		{"version", "\x00asm\x02\x00\x00\x00", "version 02 00 00 00", 4},
		{"no size", head + "\x01", "ends too early", 9},
		{"size beyond the end", head + "\x01\x05\x00", "5 bytes are announced and 1 follow", 10},
		{"unknown section", head + "\x0d\x00", "unknown section id 13", 8},
		{"twice", head + "\x01\x01\x00\x01\x01\x00", "repeated or out of order", 11},
		{"order", head + "\x03\x01\x00\x01\x01\x00", "repeated or out of order", 11},
		{"huge count", head + "\x01\x02\xff\x01", "255 elements are announced", 10},
		{"number too long", head + "\x01\x06\x80\x80\x80\x80\x80\x00", "longer than 32 bits", 10},
		{"number too large", head + "\x01\x05\xff\xff\xff\xff\x1f", "longer than 32 bits", 10},
		{"type form", head + "\x01\x04\x01\x5f\x00\x00", "type form 0x5f", 11},
		{"value type", head + "\x01\x05\x01\x60\x01\x00\x00", "unknown value type 0x00", 13},
		{"leftover", head + "\x01\x02\x00\x00", "1 bytes are left", 11},
		{"type index", head + "\x01\x04\x01\x60\x00\x00\x03\x02\x01\x01", "type index 1, but there are 1", 17},
		{"no code", head + "\x01\x04\x01\x60\x00\x00\x03\x02\x01\x00", "1 functions are declared and 0 have code", 18},
		{"memory limits", head + "\x05\x04\x01\x01\x02\x01", "maximum 1 is below the minimum 2", 11},
		{"export index", head + "\x07\x05\x01\x01a\x00\x00", "function 0, but there are 0", 11},
		{"export twice", head + "\x05\x03\x01\x00\x01\x07\x09\x02\x01a\x02\x00\x01a\x02\x00", `two exports are called "a"`, 20},
		{"name", head + "\x07\x05\x01\x01\xff\x00\x00", "not valid UTF-8", 11},
		{"start index", head + "\x08\x01\x00", "start function is 0", 10},
		{"import kind", head + "\x02\x07\x01\x01a\x01b\x09\x00", "unknown kind 9", 15},
		{"custom name", head + "\x00\x01\x05", "elements are announced", 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := wasmedit.Parse([]byte(c.wasm))
			var e *wasmedit.Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v, want an *Error", err)
			}
			if !strings.Contains(e.Reason, c.want) || e.Offset != c.offset {
				t.Errorf("got %q at %d, want %q at %d", e.Reason, e.Offset, c.want, c.offset)
			}
		})
	}
}

// FuzzParse parses arbitrary bytes. Parse must accept an encoded module again, with the
// same exports, also after an edit.
func FuzzParse(f *testing.F) {
	f.Add(sample().Encode())
	f.Add([]byte("\x00asm\x01\x00\x00\x00\x00\x03\x02ab"))
	whole := sample().Encode()
	for n := 8; n < len(whole); n += 7 {
		f.Add(whole[:n])
	}
	f.Fuzz(func(t *testing.T, wasm []byte) {
		m, err := wasmedit.Parse(wasm)
		if err != nil {
			if e := (*wasmedit.Error)(nil); !errors.As(err, &e) || e.Offset < 0 || e.Offset > len(wasm) {
				t.Fatalf("error %#v for a module of %d bytes", err, len(wasm))
			}
			return
		}
		reparsed, err := wasmedit.Parse(m.Encode())
		if err != nil {
			t.Fatalf("encoded: %v", err)
		}
		if !slices.EqualFunc(m.Exports, reparsed.Exports, func(a, b wasmedit.Export) bool { return a.String() == b.String() }) {
			t.Fatalf("exports %v became %v", m.Exports, reparsed.Exports)
		}
		if m.StartFromExport("_initialize") != nil {
			return
		}
		if reparsed, err = wasmedit.Parse(m.Encode()); err != nil || reparsed.Start == nil {
			t.Fatalf("edited: start %v, %v", reparsed, err)
		}
	})
}
