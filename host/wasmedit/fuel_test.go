package wasmedit_test

import (
	"bytes"
	"testing"

	"github.com/parley-wasm/parley/host/internal/engine/wasmtest"
	"github.com/parley-wasm/parley/host/wasmedit"
)

// Copies of the constants of the package, because a change of one would change the fuel
// cost of every plugin.
const (
	chargeUnits   = 9
	hostCallUnits = 64
)

// store stores a byte at address 0, which shows that the function ran.
var store = bin(0x41, 0, 0x41, 1, 0x3a, 0, 0) // i32.const 0, i32.const 1, i32.store8: 3 units

// three pushes three numbers.
func three(a, b, c int32) []byte {
	return bin(wasmtest.I32(a), wasmtest.I32(b), wasmtest.I32(c))
}

// metered is a function f () -> () and its fuel cost. Its module also has the function
// "down" (i32) -> (), whose parameter is the number of its recursive calls; a memory of
// one page; a table of 64 functions; a table that contains down; a passive data segment
// of 64 bytes; and a passive element segment of 64 nulls.
type metered struct {
	name  string
	code  []byte
	units int64
}

const (
	down    = hostFuncs     // index of the function "down"
	itself  = hostFuncs + 1 // f
	callers = hostFuncs + 2 // index of the function of TestFuelOfCallers
)

func (c metered) module() *wasmtest.Sections {
	s := withHost()
	add(s, "down", wasmedit.FuncType{Params: list(i32)}, nil,
		0x20, 0, 0x04, 0x40, 0x20, 0, 0x41, 1, 0x6b, 0x10, down, 0x0b)
	add(s, "f", wasmtest.Void, list(i32, i64), c.code)
	s.Memories = [][]byte{{1, 1, 1}}
	s.Tables = [][]byte{bin(funcref, 1, 64, wasmtest.Index(1<<10)), bin(funcref, 1, 1, 1)}
	s.Elements = [][]byte{
		bin(5, funcref, wasmtest.Index(64), bytes.Repeat(bin(0xd0, funcref, 0x0b), 64)),
		bin(2, 1, 0x41, 0, 0x0b, 0, 1, down), // the second table contains down
	}
	s.CountData = true
	s.Data = [][]byte{bin(1, wasmtest.Index(64), bytes.Repeat([]byte{7}, 64))}
	s.Exports = append(s.Exports, wasmtest.ExportEntry("memory", wasmedit.KindMemory, 0))
	return s
}

// countTo returns a loop that increments local 0 up to n.
func countTo(n int) []byte {
	return bin(0x03, 0x40, 0x20, 0, 0x41, 1, 0x6a, 0x22, 0, wasmtest.I32(int32(n)), 0x48, 0x0d, 0, 0x0b)
}

var meteredFunctions = []metered{
	{"nothing", nil, 1 + chargeUnits},
	{"straight-line code", store, 4 + chargeUnits},
	{"a call of the host", bin(0x10, hostNop), hostCallUnits + 1 + chargeUnits},
	{"an indirect call", bin(0x41, 0, 0x41, 0, 0x11, 2, 1), 4 + chargeUnits + 8 + chargeUnits},
	{"recursion", bin(0x41, 5, 0x10, down), 3 + chargeUnits + 6*(8+chargeUnits)},
	{"the longer branch", bin(0x41, 0, 0x04, 0x40, store, store, 0x05, 0x01, 0x0b), 2 + 6 + 1 + 1 + chargeUnits},
	{"a branch not taken", bin(0x41, 0, 0x04, 0x40, store, 0x0b), 2 + 3 + 1 + 1 + chargeUnits},
	{"a return before the end", bin(0x41, 1, 0x0d, 0, store), 2 + 3 + 1 + chargeUnits},
	{"a branch out of a block", bin(0x02, 0x40, 0x41, 1, 0x0d, 0, store, 0x0b), 1 + 2 + 3 + 1 + 1 + chargeUnits},
	{"a switch", bin(0x02, 0x40, 0x02, 0x40, 0x41, 1, 0x0e, 2, 0, 1, 1, 0x0b, store, 0x0b), 2 + 2 + 3 + 1 + 1 + chargeUnits},
	{"a trap not taken", bin(0x41, 0, 0x04, 0x40, store, store, 0x00, 0x0b), 2 + 1 + chargeUnits},
	{"a loop of one iteration", bin(0x03, 0x40, store, 0x0b), 1 + 1 + chargeUnits + 3 + 1 + chargeUnits},
	{"a loop of ten", // local 0 counts to 10; the path back to the start is one unit shorter than the path to the end
		bin(0x03, 0x40, 0x20, 0, 0x41, 1, 0x6a, 0x22, 0, 0x41, 10, 0x48, 0x0d, 0, 0x0b), 1 + 1 + chargeUnits + 10*(8+chargeUnits)},
	{"a loop in a loop", // ten times ten
		bin(0x03, 0x40, 0x03, 0x40, 0x20, 0, 0x41, 1, 0x6a, 0x22, 0, 0x41, 10, 0x70, 0x0d, 0, 0x0b,
			0x20, 0, wasmtest.I32(100), 0x48, 0x0d, 1, 0x0b),
		// The branch to label 1 leaves the outer loop and the function.
		1 + 5 + 1 + chargeUnits + 1 + chargeUnits + 10*(8+chargeUnits)},
	{"two loops with a call between them", bin(countTo(10), 0x41, 2, 0x10, down, countTo(20)),
		1 + 2 + 1 + 1 + chargeUnits + 10*(8+chargeUnits) + 3*(8+chargeUnits) + 10*(8+chargeUnits)},
	{"loops and a call in a loop", // five rounds of two
		bin(0x03, 0x40, countTo(2), 0x41, 0, 0x21, 0, 0x41, 0, 0x10, down, countTo(2), 0x41, 0, 0x21, 0,
			0x20, 1, 0x42, 1, 0x7c, 0x22, 1, 0x42, 5, 0x53, 0x0d, 0, 0x0b),
		1 + 1 + chargeUnits + 5*(16+chargeUnits+4*(8+chargeUnits)+8+chargeUnits)},
	{"a loop and a bulk operation in a loop",
		bin(0x03, 0x40, countTo(2), 0x41, 0, 0x21, 0, three(0, 1, 8), 0xfc, 0x0b, 0,
			0x20, 1, 0x42, 1, 0x7c, 0x22, 1, 0x42, 5, 0x53, 0x0d, 0, 0x0b),
		1 + 1 + chargeUnits + 5*(15+1+chargeUnits+2*(8+chargeUnits))},

	{"memory.fill", bin(three(0, 1, 65_536), 0xfc, 0x0b, 0), 5 + 8192 + chargeUnits},
	{"memory.fill of 7 bytes", bin(three(0, 1, 7), 0xfc, 0x0b, 0), 5 + chargeUnits},
	{"memory.copy", bin(three(0, 8, 65_000), 0xfc, 0x0a, 0, 0), 5 + 65_000/8 + chargeUnits},
	{"memory.init", bin(three(0, 0, 64), 0xfc, 0x08, 0, 0), 5 + 8 + chargeUnits},
	{"memory.grow", bin(wasmtest.I32(0), 0x40, 0, 0x1a), 4 + chargeUnits},
	{"table.fill", bin(0x41, 0, 0xd0, funcref, wasmtest.I32(64), 0xfc, 0x11, 0), 5 + 8 + chargeUnits},
	{"table.copy", bin(three(0, 0, 64), 0xfc, 0x0e, 0, 0), 5 + 8 + chargeUnits},
	{"table.init", bin(three(0, 0, 64), 0xfc, 0x0c, 0, 0), 5 + 8 + chargeUnits},
	{"table.grow", bin(0xd0, funcref, wasmtest.I32(640), 0xfc, 0x0f, 0, 0x1a), 5 + 80 + chargeUnits},
}

// TestFuel checks the fuel cost of each function: with exactly that much fuel it
// returns, and with one unit less it traps.
func TestFuel(t *testing.T) {
	for _, c := range meteredFunctions {
		t.Run(c.name, func(t *testing.T) {
			g, _ := load(t, c.module())
			if used, err := g.callWithFuel(plenty, "f"); err != nil || used != c.units {
				t.Fatalf("used %d, %v; want %d", used, err, c.units)
			}
			g, _ = load(t, c.module())
			if used, err := g.callWithFuel(c.units, "f"); err != nil || used != c.units {
				t.Errorf("with %d: used %d, %v", c.units, used, err)
			}
			g, _ = load(t, c.module())
			if used, err := g.callWithFuel(c.units-1, "f"); !unreachable(err) || used != c.units {
				t.Errorf("with %d: used %d, %v", c.units-1, used, err)
			}
		})
	}
}

// TestFuelQuanta checks that a call uses as much fuel with a reserve as without one.
func TestFuelQuanta(t *testing.T) {
	const (
		rounds = 500_000
		units  = 1 + 1 + chargeUnits + rounds*(8+chargeUnits)
	)
	for _, c := range []struct {
		name  string
		code  []byte
		units int64
	}{
		{"a loop", countTo(rounds), units},
		{"a loop with a call", bin(countTo(rounds/2), 0x41, 0, 0x10, down, countTo(rounds)), units + 3 + 8 + chargeUnits},
		{"loops in a loop", bin(0x03, 0x40, countTo(rounds), 0x20, 0, wasmtest.I32(rounds), 0x48, 0x0d, 0, 0x0b), units + 6 + chargeUnits},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, missing := range []int64{0, 1} {
				g, _ := load(t, metered{code: c.code}.module())
				g.reserve.Set(uint64(c.units - wasmedit.Quantum - missing))
				used, err := g.callWithFuel(wasmedit.Quantum, "f")
				used += c.units - wasmedit.Quantum - missing - int64(g.reserve.Get())
				if used != c.units || unreachable(err) != (missing > 0) {
					t.Errorf("%d missing: used %d, %v; want %d", missing, used, err, c.units)
				}
			}
		})
	}
}

// TestFuelOfIndirectCalls checks that an indirect call costs as much as a host call if
// it can reach an imported function.
func TestFuelOfIndirectCalls(t *testing.T) {
	reference := func(f byte) []byte { // the type, the mutability and the value
		return bin(funcref, 1, 0xd2, f, 0x0b)
	}
	for _, c := range []struct {
		name   string
		change func(s *wasmtest.Sections)
		units  int64 // of the call
	}{
		{"own functions only", func(*wasmtest.Sections) {}, 1},
		{"own functions everywhere", func(s *wasmtest.Sections) {
			s.Elements = append(s.Elements, bin(1, 0, 1, down), bin(3, 0, 1, itself), bin(5, funcref, 1, 0xd2, down, 0x0b))
			s.Globals = append(s.Globals, reference(down))
		}, 1},
		{"an element", func(s *wasmtest.Sections) { s.Elements = append(s.Elements, bin(0, 0x41, 3, 0x0b, 1, hostNop)) }, hostCallUnits},
		{"the last element of a segment", func(s *wasmtest.Sections) {
			s.Elements = append(s.Elements, bin(0, 0x41, 3, 0x0b, 2, down, hostDouble))
		}, hostCallUnits},
		{"a passive element", func(s *wasmtest.Sections) { s.Elements = append(s.Elements, bin(1, 0, 1, hostNop)) }, hostCallUnits},
		{"a declared element", func(s *wasmtest.Sections) { s.Elements = append(s.Elements, bin(3, 0, 1, hostNop)) }, hostCallUnits},
		{"an element by expression", func(s *wasmtest.Sections) {
			s.Elements = append(s.Elements, bin(5, funcref, 1, 0xd2, hostNop, 0x0b))
		}, hostCallUnits},
		{"a global", func(s *wasmtest.Sections) { s.Globals = append(s.Globals, reference(hostNop)) }, hostCallUnits},
		{"an export", func(s *wasmtest.Sections) {
			s.Exports = append(s.Exports, wasmtest.ExportEntry("nop", wasmedit.KindFunc, hostNop))
		}, hostCallUnits},
		{"an exported table", func(s *wasmtest.Sections) {
			s.Exports = append(s.Exports, wasmtest.ExportEntry("table", wasmedit.KindTable, 0))
		}, hostCallUnits},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := metered{code: bin(0x41, 0, 0x41, 0, 0x11, 2, 1)}.module() // calls down(0) through the second table
			c.change(s)
			g, _ := load(t, s)
			if used, err := g.callWithFuel(plenty, "f"); err != nil || used != 2+c.units+1+chargeUnits+8+chargeUnits {
				t.Errorf("used %d, %v; want %d", used, err, 2+c.units+1+chargeUnits+8+chargeUnits)
			}
		})
	}
	// An imported table may contain any function of the host.
	s := withHost()
	s.Imports = append(s.Imports, wasmtest.ImportEntry("host", "table", wasmedit.KindTable, byte(funcref), 0, 1))
	add(s, "f", wasmtest.Void, nil, 0x41, 0, 0x11, 0, 0)
	g, _ := load(t, s)
	if used, err := g.callWithFuel(plenty, "f"); err != nil || used != 1+hostCallUnits+1+chargeUnits {
		t.Errorf("an imported table: used %d, %v", used, err)
	}
}

// TestBulkOperationWithoutFuel checks that a bulk operation without enough fuel traps
// before it has any effect.
func TestBulkOperationWithoutFuel(t *testing.T) {
	for _, c := range []struct {
		name string
		code []byte
	}{
		{"memory.fill", bin(three(0, 1, 65_536), 0xfc, 0x0b, 0)},
		{"memory.fill beyond the end", bin(three(0, 1, -1), 0xfc, 0x0b, 0)},
		{"memory.copy", bin(store, three(8, 0, 65_000), 0xfc, 0x0a, 0, 0)},
		{"memory.init", bin(three(0, 0, 64), 0xfc, 0x08, 0, 0)},
		{"table.fill", bin(0x41, 0, 0xd0, funcref, wasmtest.I32(64), 0xfc, 0x11, 0)},
		{"table.grow", bin(0xd0, funcref, wasmtest.I32(64), 0xfc, 0x0f, 0, 0x1a)},
		{"table.copy", bin(three(0, 0, 64), 0xfc, 0x0e, 0, 0)},
		{"table.init", bin(three(0, 0, 64), 0xfc, 0x0c, 0, 0)},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, _ := load(t, metered{code: bin(c.code, 0x41, 9, 0x41, 1, 0x3a, 0, 0)}.module())
			if used, err := g.callWithFuel(20, "f"); !unreachable(err) || used <= 20 {
				t.Fatalf("used %d, %v", used, err)
			}
			memory, _ := g.Memory().Read(1, 100)
			if !bytes.Equal(memory, make([]byte, 100)) {
				t.Errorf("memory is %x", memory)
			}
		})
	}
}

func TestNoFuel(t *testing.T) {
	g, _ := load(t, metered{code: store}.module())
	if _, err := g.call("f"); !unreachable(err) {
		t.Errorf("before the host sets the global: %v", err)
	}
	for _, fuel := range []int64{0, -1, -1 << 40, chargeUnits + 3} {
		g, _ := load(t, metered{code: store}.module())
		if used, err := g.callWithFuel(fuel, "f"); !unreachable(err) || used != 4+chargeUnits {
			t.Errorf("with %d: used %d, %v", fuel, used, err)
		}
		if b, _ := g.Memory().ReadByte(0); b != 0 {
			t.Errorf("with %d: the function ran", fuel)
		}
	}
}

// TestFuelExhaustion checks that endless code runs out of fuel, and that it exceeds its
// fuel by at most the units of one iteration or recursion.
func TestFuelExhaustion(t *testing.T) {
	nops := bytes.Repeat([]byte{0x01}, 1000)
	for _, c := range []struct {
		name string
		code []byte
		step int64 // units of one iteration or recursion
	}{
		{"a loop", bin(0x03, 0x40, 0x0c, 0, 0x0b), 1 + chargeUnits},
		{"a loop with a branch from an inner block", bin(0x03, 0x40, 0x02, 0x40, 0x0c, 1, 0x0b, 0x0b), 2 + chargeUnits},
		{"an inner loop that continues the outer one", bin(0x03, 0x40, nops, 0x03, 0x40, 0x0c, 1, 0x0b, 0x0b), 1002 + 2*chargeUnits},
		{"a loop with a value", bin(0x41, 0, 0x03, 1, 0x10, hostDouble, 0x0c, 0, 0x0b, 0x1a), 65 + chargeUnits},
		{"recursion", bin(0x10, itself), 2 + chargeUnits},
		{"recursion followed by a trap", bin(nops, 0x10, itself, 0x00), 1001 + chargeUnits},
		{"recursion in an endless loop", bin(nops, 0x03, 0x40, 0x10, itself, 0x0c, 0, 0x0b), 1001 + chargeUnits + 2 + chargeUnits},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, _ := load(t, metered{code: c.code}.module())
			const fuel = 5000
			used, err := g.callWithFuel(fuel, "f")
			if !unreachable(err) || used <= fuel || used > fuel+c.step {
				t.Errorf("used %d of %d, %v", used, fuel, err)
			}
		})
	}
}

// TestFuelOfCallers checks that the path to a call is charged even if a trap follows
// the call: each caller of a recursion has taken the path.
func TestFuelOfCallers(t *testing.T) {
	const depth, length = 500, 1000
	nops := bytes.Repeat([]byte{0x01}, length)
	for _, c := range []struct {
		name string
		code []byte // the parameter is the remaining depth
	}{
		{"a trap after the call", bin(nops, 0x20, 0, 0x41, 1, 0x6b, 0x10, callers, 0x00)},
		{"a trap after an indirect call", bin(nops, 0x20, 0, 0x41, 1, 0x6b, 0x41, 1, 0x11, 4, 0, 0x00)},
		{"a loop that ends in a trap", bin(nops, 0x03, 0x40, 0x20, 0, 0x41, 1, 0x6b, 0x10, callers, 0x00, 0x0b)},
		{"an endless loop", bin(nops, 0x03, 0x40, 0x20, 0, 0x41, 1, 0x6b, 0x10, callers, 0x0c, 0, 0x0b)},
		{"a call in one branch", bin(0x20, 0, 0x04, 0x40, nops, 0x20, 0, 0x41, 1, 0x6b, 0x10, callers, 0x00, 0x0b)},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := metered{}.module()
			add(s, "callers", wasmedit.FuncType{Params: list(i32)}, nil,
				0x20, 0, 0x45, 0x04, 0x40, 0x00, 0x0b, c.code)
			s.Elements[1] = bin(2, 0, 0x41, 1, 0x0b, 0, 1, callers)
			g, _ := load(t, s)
			used, err := g.callWithFuel(plenty, "callers", depth)
			if !unreachable(err) || used < depth*length {
				t.Errorf("used %d of at least %d, %v", used, depth*length, err)
			}
		})
	}
}

// TestVectorOpcodeEncoding checks the encoding of the opcode numbers of vector
// instructions, of which wazero reads only one byte. If 12 (v128.const) is encoded in
// two bytes, wazero reads another instruction and an unreachable, and interprets the
// operand as code: in this test, the end of the block and an uncharged loop. Instrument
// refuses this encoding (TestInstrumentRefuses). It accepts the shortest form, which
// wazero reads correctly.
func TestVectorOpcodeEncoding(t *testing.T) {
	hidden := bin(0x0b, 0x03, 0x40, 0x0c, 0, 0x0b, 0x02, 0x40, bytes.Repeat([]byte{0x01}, 8))
	wasm := body(0x02, 0x40, 0x0c, 0, 0xfd, 0x8c, 0x00, hidden, 0x0b, 0x0b)
	if _, err := newRuntime(t).CompileModule(t.Context(), wasm); err != nil {
		t.Fatalf("the engine rejects the long form now: %v", err)
	}
	if _, err := instrument(wasm); err == nil {
		t.Error("a module that hides a loop in an operand was instrumented")
	}
	g, _ := load(t, metered{code: bin(0xfd, 0x0c, make([]byte, 16), 0xfd, 0x80, 0x01, 0x1a)}.module()) // i16x8.abs
	if used, err := g.callWithFuel(plenty, "f"); err != nil || used != 4+chargeUnits {
		t.Errorf("used %d, %v", used, err)
	}
}
