package wasmedit_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/host/internal/engine/wasmtest"
	"github.com/parley-wasm/parley/host/wasmedit"
)

// refusal is a module that Parse accepts and Instrument refuses.
type refusal struct {
	name string
	wasm []byte
	want string
}

func exporting(name string, kind wasmedit.Kind, t wasmedit.FuncType) []byte {
	s := withHost()
	add(s, "", t, nil, 0x00)
	s.Memories = [][]byte{{0, 1}}
	s.Tables = [][]byte{{byte(funcref), 0, 1}}
	index := 0
	if kind == wasmedit.KindFunc {
		index = hostFuncs
	}
	s.Exports = append(s.Exports, wasmtest.ExportEntry(name, kind, index))
	return s.Encode()
}

// body returns a module with one function () -> () of its own, without locals and with
// this code.
func body(code ...any) []byte {
	return whole(bin(0, bin(code...)))
}

// whole returns a module with one function () -> () of its own. The bytes are its
// locals and code.
func whole(function []byte) []byte {
	s := withHost()
	s.Types = s.Types[:2]
	s.Funcs = [][]byte{{0}}
	s.Memories = [][]byte{{0, 1}}
	s.Tables = [][]byte{{byte(funcref), 0, 1}}
	s.Codes = [][]byte{bin(wasmtest.Index(len(function)), function)}
	return s.Encode()
}

func refusals() []refusal {
	var all []refusal
	refuse := func(name string, wasm []byte, want string) { all = append(all, refusal{name, wasm, want}) }

	number := wasmedit.FuncType{Params: list(i32)}
	for _, name := range []string{wasmedit.ExportFuel, wasmedit.ExportStart, wasmedit.ExportSave, wasmedit.ExportRestore} {
		for kind := wasmedit.KindFunc; kind <= wasmedit.KindGlobal; kind++ {
			refuse(fmt.Sprint("export ", name, " of a ", kind), exporting(name, kind, wasmtest.Void), "exports \""+name+"\" itself")
		}
	}
	refuse("_initialize with a parameter", exporting("_initialize", wasmedit.KindFunc, number), "_initialize (i32) -> () is not a function () -> ()")
	refuse("_initialize with a result", exporting("_initialize", wasmedit.KindFunc, wasmtest.Export), "is not a function () -> ()")
	refuse("_initialize is a memory", exporting("_initialize", wasmedit.KindMemory, wasmtest.Void), "is not a function () -> ()")

	refuse("too many locals", whole(bin(1, wasmtest.Index(50_000), i64, 0x0b)), "50000 local variables, more than 49999")
	refuse("too many locals together", whole(bin(2, wasmtest.Index(49_999), i64, 1, i32, 0x0b)), "50000 local variables")
	refuse("more than 2^32 locals", whole(bin(2, "\xff\xff\xff\xff\x0f", i64, "\xff\xff\xff\xff\x0f", i64, 0x0b)), "8589934590 local variables")
	many := withHost()
	for range 21 {
		many.Funcs = append(many.Funcs, []byte{0})
		many.Codes = append(many.Codes, bin(6, 1, "\xcf\x86\x03", i64, 0x0b))
	}
	refuse("too many locals of all functions", many.Encode(), "1049979 local variables in all functions, more than 1048576")
	refuse("type of a local", whole(bin(1, 1, 0x69, 0x0b)), "unknown value type 0x69")
	refuse("typed reference as a local", whole(bin(1, 1, 0x63, 0x70, 0x0b)), "unknown value type 0x63")
	refuse("missing locals", whole(bin(9, 1, i64, 0x0b)), "9 elements are announced")
	refuse("missing local is read", body(0x20, 0, 0x1a, 0x0b), "local index 0, but there are 0")
	refuse("missing local is set", whole(bin(1, 2, i64, 0x42, 0, 0x21, 2, 0x0b)), "local index 2, but there are 2")
	refuse("missing local is set by local.tee", whole(bin(1, 2, i64, 0x42, 0, 0x22, 2, 0x1a, 0x0b)), "local index 2, but there are 2")

	refuse("br too far", body(0x0c, 1, 0x0b), "label 1, but there are 1 blocks")
	refuse("br_if too far", body(0x02, 0x40, 0x41, 0, 0x0d, 2, 0x0b, 0x0b), "label 2, but there are 2 blocks")
	refuse("br_table too far", body(0x41, 0, 0x0e, 2, 0, 1, 0, 0x0b), "label 1, but there are 1 blocks")
	refuse("br_table too far by default", body(0x41, 0, 0x0e, 1, 0, 7, 0x0b), "label 7, but there are 1 blocks")
	refuse("br too far in dead code", body(0x00, 0x0c, 1, 0x0b), "label 1, but there are 1 blocks")
	refuse("else without if", body(0x02, 0x40, 0x05, 0x0b, 0x0b), "else without if")
	refuse("else of a function", body(0x05, 0x0b), "else without if")
	refuse("else of a loop", body(0x03, 0x40, 0x05, 0x0b, 0x0b), "else without if")
	refuse("a second else", body(0x41, 0, 0x04, 0x40, 0x05, 0x05, 0x0b, 0x0b), "else without if")
	refuse("code after the end", body(0x0b, 0x01), "1 bytes are left after the end of a function")
	refuse("a second end", body(0x0b, 0x0b), "1 bytes are left after the end of a function")
	refuse("no end", body(0x01, 0x01), "ends too early")
	refuse("a block without end", body(0x02, 0x40, 0x0b), "ends too early")
	refuse("an operand beyond the end", body(0x01, 0x41), "ends too early")
	refuse("bytes beyond the end", body(0xfd, 0x0c, 0x0b), "16 bytes are announced and 1 follow")
	refuse("missing labels", body(0x0e, 9, 0x0b), "9 elements are announced")

	// Indices of functions, globals and types that Instrument adds.
	refuse("call of an added function", body(0x10, hostFuncs+1, 0x0b), "function index 3, but there are 3")
	refuse("reference to an added function", body(0xd2, hostFuncs+1, 0x1a, 0x0b), "function index 3, but there are 3")
	refuse("fuel is read", body(0x23, hostGlobals, 0x1a, 0x0b), "global index 2, but there are 2")
	refuse("fuel is set", body(0x42, 0, 0x24, hostGlobals, 0x0b), "global index 2, but there are 2")
	refuse("type of an added function", body(0x41, 0, 0x11, 2, 0, 0x0b), "type index 2, but there are 2")
	refuse("block type of an added function", body(0x02, 2, 0x0b, 0x0b), "type index 2, but there are 2 types")

	refuse("unknown block type", body(0x02, 0x60, 0x0b, 0x0b), "unknown value type 0x60")
	refuse("long block type", body(0x02, 0xff, 0x7f, 0x0b, 0x0b), "unknown block type -1")
	refuse("second memory is filled", body(0x41, 0, 0x41, 0, 0x41, 0, 0xfc, 0x0b, 1, 0x0b), "memory index 1")
	refuse("second memory is copied to", body(0x41, 0, 0x41, 0, 0x41, 0, 0xfc, 0x0a, 1, 0, 0x0b), "memory index 1")
	refuse("second memory is copied from", body(0x41, 0, 0x41, 0, 0x41, 0, 0xfc, 0x0a, 0, 1, 0x0b), "memory index 1")
	refuse("second memory grows", body(0x41, 0, 0x40, 1, 0x1a, 0x0b), "memory index 1")
	refuse("load from a second memory", body(0x41, 0, 0x28, 0x42, 1, 0, 0x1a, 0x0b), "alignment 2^66")
	refuse("unknown reference", body(0xd0, 0x6e, 0x1a, 0x0b), "unknown value type 0x6e")
	refuse("null of a number", body(0xd0, 0x7f, 0x1a, 0x0b), "i32 is not a reference type")
	refuse("type of select", body(0x41, 0, 0x41, 0, 0x41, 0, 0x1c, 1, 0x40, 0x1a, 0x0b), "unknown value type 0x40")
	refuse("number too long", body(0x41, "\x80\x80\x80\x80\x80\x00", 0x1a, 0x0b), "longer than 32 bits")
	refuse("vector instruction in a long form", body(0xfd, 0x8c, 0x00, "0123456789abcdef", 0x1a, 0x0b), "0xfd 12 is not in its shortest form")
	refuse("vector instruction in a longer form", body(0x00, 0xfd, 0x80, 0x81, 0x00, 0x0b), "0xfd 128 is not in its shortest form")

	for first, what := range map[byte]string{
		0x06: "try", 0x07: "catch", 0x08: "throw", 0x09: "rethrow", 0x0a: "throw_ref", 0x12: "return_call", 0x13: "return_call_indirect",
		0x14: "call_ref", 0x15: "return_call_ref", 0x16: "nothing", 0x17: "nothing", 0x18: "delegate", 0x19: "catch_all", 0x1d: "nothing",
		0x1e: "nothing", 0x1f: "try_table", 0x27: "nothing", 0x3f + 0x86: "nothing", 0xcf: "nothing", 0xd3: "ref.eq", 0xd4: "ref.as_non_null",
		0xd5: "br_on_null", 0xd6: "br_on_non_null", 0xe0: "nothing", 0xfa: "nothing", 0xfb: "garbage collection", 0xfe: "threads", 0xff: "nothing",
	} {
		refuse(fmt.Sprintf("opcode 0x%02x, %s", first, what), body(0x00, first, 0, 0, 0x0b), fmt.Sprintf("unknown instruction 0x%02x", first))
	}
	for sub, what := range map[int]string{0x12: "memory.discard", 0x13: "i64.add128", 0x40: "nothing", 0xff: "nothing", 0x100: "nothing", 0x10b: "nothing"} {
		refuse(fmt.Sprintf("opcode 0xfc %d, %s", sub, what), body(0x00, 0xfc, wasmtest.Index(sub), 0, 0, 0x0b), fmt.Sprintf("unknown instruction 0xfc %d", sub))
	}
	for _, sub := range []int{0x9a, 0xa2, 0xa5, 0xa6, 0xaf, 0xb0, 0xb2, 0xb3, 0xb4, 0xbb, 0xc2, 0xc5, 0xc6, 0xcf, 0xd0, 0xd2, 0xd3, 0xd4, 0xe2, 0xee,
		0x100, 0x101, 0x113, 0x10c, 0x7fffffff} {
		refuse(fmt.Sprintf("opcode 0xfd %d", sub), body(0x00, 0xfd, wasmtest.Index(sub), 0, 0, 0x0b), fmt.Sprintf("unknown instruction 0xfd %d", sub))
	}
	return all
}

func TestInstrumentRefuses(t *testing.T) {
	for _, c := range refusals() {
		t.Run(c.name, func(t *testing.T) {
			m, err := wasmedit.Parse(c.wasm)
			if err != nil {
				t.Fatal(err)
			}
			_, err = m.Instrument()
			var e *wasmedit.Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v, want an *Error", err)
			}
			if !strings.Contains(e.Reason, c.want) || e.Offset < 0 || e.Offset > len(c.wasm) {
				t.Errorf("got %q at %d of %d, want %q", e.Reason, e.Offset, len(c.wasm), c.want)
			}
			if !bytes.Equal(m.Encode(), c.wasm) {
				t.Error("the module was changed")
			}
		})
	}
}

// TestParseRefuses checks that Parse refuses invalid contents of sections on which
// Instrument relies.
func TestParseRefuses(t *testing.T) {
	const head = "\x00asm\x01\x00\x00\x00"
	function := head + "\x01\x04\x01\x60\x00\x00\x03\x02\x01\x00"
	for _, c := range []struct{ name, wasm, want string }{
		{"code section too short", function + "\x0a\x03\x01\x02\x00\x0b", "elements are announced"},
		{"code section too long", function + "\x0a\x05\x01\x02\x00\x0b\x00", "1 bytes are left at the end of the code section"},
		{"function beyond its section", function + "\x0a\x04\x01\x03\x00\x0b", "3 elements are announced and only 2 bytes follow"},
		{"more code than there is", function + "\x0a\x04\x02\x02\x00\x0b", "2 elements are announced and only 3 bytes follow"},
		{"more code than functions", function + "\x0a\x07\x02\x02\x00\x0b\x02\x00\x0b", "1 functions are declared and 2 have code"},
		{"block in a constant", head + "\x06\x08\x01\x7f\x00\x02\x40\x0b\x0b\x0b", "a block in a constant expression"},
		{"constant without end", head + "\x06\x05\x01\x7f\x00\x41\x00", "ends too early"},
		{"constant of a later global", head + "\x06\x06\x01\x7f\x00\x23\x00\x0b", "global index 0, but there are 0"},
		{"constant in a long form", head + "\x06\x16\x01\x7b\x00\xfd\x8c\x00" + strings.Repeat("\x00", 15) + "\x0b", "not in its shortest form"},
		{"mutability", head + "\x06\x06\x01\x7f\x02\x41\x00\x0b", "unknown mutability 0x02"},
		{"segment of a function that is added", head + "\x04\x04\x01\x70\x00\x01\x09\x07\x01\x00\x41\x00\x0b\x01\x00", "function index 0, but there are 0"},
		{"segment of an expression of a function that is added", head + "\x09\x07\x01\x05\x70\x01\xd2\x00\x0b", "function index 0, but there are 0"},
		{"kind of an element segment", head + "\x09\x03\x01\x08\x00", "unknown kind 8 of an element segment"},
		{"kind of elements", head + "\x09\x04\x01\x01\x01\x00", "unknown kind of elements"},
		{"kind of a data segment", head + "\x0b\x03\x01\x03\x00", "unknown kind 3 of a data segment"},
		{"data beyond its section", head + "\x0b\x04\x01\x01\x02\x00", "2 elements are announced and only 1 bytes follow"},
		{"table with a value", head + "\x04\x09\x01\x40\x00\x70\x00\x01\xd0\x70\x0b", "unknown value type 0x40"},
		{"recursive types", head + "\x01\x06\x01\x4e\x01\x60\x00\x00", "type form 0x4e"},
		{"tags", head + "\x0d\x03\x01\x00\x00", "unknown section id 13"},
		{"import of a tag", head + "\x01\x04\x01\x60\x00\x00\x02\x07\x01\x01a\x01b\x04\x00\x00", "unknown kind 4 of an import"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := wasmedit.Parse([]byte(c.wasm))
			var e *wasmedit.Error
			if !errors.As(err, &e) || !strings.Contains(e.Reason, c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestSectionBounds checks that Parse refuses sections with too many entries before it
// reads them.
func TestSectionBounds(t *testing.T) {
	const head = "\x00asm\x01\x00\x00\x00"
	for _, c := range []struct{ name, wasm, want string }{
		{"types", head + "\x01\x05\xff\xff\xff\xff\x0f", "4294967295 entries in the type section; at most 10000 are accepted"},
		{"tables", head + "\x04\x02\xe9\x07", "1001 entries in the table section; at most 1000 are accepted"},
		{"data", head + "\x0b\x03\xa1\x8d\x06", "100001 entries in the data section; at most 100000 are accepted"},
		{"custom sections", head + strings.Repeat("\x00\x01\x00", 1001), "1001 sections; at most 1000 are accepted"},
	} {
		_, err := wasmedit.Parse([]byte(c.wasm))
		if e, ok := errors.AsType[*wasmedit.Error](err); !ok || !e.Large || e.Reason != c.want {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
	if _, err := wasmedit.Parse([]byte(head + strings.Repeat("\x00\x01\x00", 1000))); err != nil {
		t.Errorf("1000 sections: %v", err)
	}
}

// TestFunctionBounds checks the bounds on functions, without which a module could take
// minutes to compile.
func TestFunctionBounds(t *testing.T) {
	loop := bin(0x03, 0x40, 0x0b)
	repeated := func(part []byte) func(n int) []byte { return func(n int) []byte { return bytes.Repeat(part, n) } }
	for _, c := range []struct {
		name string
		most int
		code func(n int) []byte
		more int // number of loops in other functions
		want string
	}{
		{"loops", 1000, repeated(loop), 0, "1001 loops in a function; at most 1000 are accepted"},
		{"loops of all functions", 500, repeated(loop), 99_500, "100001 loops; at most 100000 are accepted"},
		{"blocks", 10_000, repeated(bin(0x02, 0x40, 0x0b)), 0, "10001 blocks and branches in a function; at most 10000 are accepted"},
		{"branches", 10_000, repeated(bin(0x41, 0, 0x0d, 0)), 0, "10001 blocks and branches in a function; at most 10000 are accepted"},
		{"labels", 49_999, func(n int) []byte { // five labels of a br_table count as one branch
			return bin(0x41, 0, 0x0e, wasmtest.Index(n), bytes.Repeat([]byte{0}, n+1))
		}, 0, "10001 blocks and branches in a function; at most 10000 are accepted"},
		{"bytes", 512<<10 - 2, repeated(bin(0x01)), 0, "524289 bytes in a function; at most 524288 are accepted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			module := func(n int) []byte {
				s := withHost()
				for left := c.more; left > 0; left -= 1000 {
					add(s, "", wasmtest.Void, nil, bytes.Repeat(loop, min(left, 1000)))
				}
				add(s, "f", wasmtest.Void, nil, c.code(n))
				return s.Encode()
			}
			if _, err := instrument(module(c.most)); err != nil {
				t.Errorf("at the bound: %v", err)
			}
			_, err := instrument(module(c.most + 1))
			if e, ok := errors.AsType[*wasmedit.Error](err); !ok || !e.Large || e.Reason != c.want {
				t.Errorf("beyond the bound: %v, want %s", err, c.want)
			}
		})
	}
}
