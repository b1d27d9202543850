package wasmedit_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/parley-wasm/parley/host/internal/engine/wasmtest"
	"github.com/parley-wasm/parley/host/wasmedit"
)

// choices decides by the bytes of data. After the last byte, every decision is the
// first option, with which the generation ends.
type choices struct{ data []byte }

// pick returns a number below n.
func (c *choices) pick(n int) int {
	if len(c.data) == 0 {
		return 0
	}
	b := c.data[0]
	c.data = c.data[1:]
	return int(b) % n
}

// one returns true once in n times, and false after the last byte.
func (c *choices) one(n int) bool { return c.pick(n) == n-1 }

func (c *choices) bytes(n int) []byte {
	b := make([]byte, n)
	c.data = c.data[copy(b, c.data):]
	return b
}

// random returns n pseudo-random bytes, which depend only on the seed.
func random(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

var valueTypes = list(i32, i64, f32, f64, v128, funcref, externref)

// budget is the index of the global that bounds the calls of a generated module. Each
// function call, and each iteration of a loop that is not counted, decrements the
// global; if it is zero, the function returns.
const budget = hostGlobals

const (
	elements = 8 // size of the table of functions
	nulls    = 4 // size of the table of external references
)

// generator creates valid modules whose calls end.
type generator struct {
	choices
	s        *wasmtest.Sections
	straight bool // no instruction is skipped or repeated
	types    []wasmedit.FuncType
	funcs    []int // type index of each function, imported ones first
	globals  []wasmedit.Global
	table    [elements]int // initial elements of the table of functions
	left     int           // approximate number of instructions left to generate
}

// generated is a module, with the properties that the tests need.
type generated struct {
	wasm     []byte
	straight bool
	calls    []call
	getters  []string // names of functions that return the values of globals
}

// call is a call of an exported function.
type call struct {
	name string
	args []uint64
	t    wasmedit.FuncType
}

// generate creates a module.
func generate(data []byte) *generated {
	g := &generator{choices: choices{data}, s: withHost(), left: 300}
	g.straight = g.one(8)
	g.types = []wasmedit.FuncType{wasmtest.Void, {Params: list(i32), Results: list(i32)}}
	for range 2 + g.pick(5) {
		g.types = append(g.types, wasmedit.FuncType{Params: g.someTypes(), Results: g.someTypes()})
	}
	g.funcs = []int{0, 1}
	own := 1 + g.pick(4)
	g.funcs = append(g.funcs, 0) // may be the start function
	for range own {
		g.funcs = append(g.funcs, g.pick(len(g.types)))
	}
	g.addGlobals()
	g.addSegments()
	for n := hostFuncs; n < len(g.funcs); n++ {
		g.addFunction(n)
	}
	if g.one(3) {
		g.s.Start = wasmtest.Index(hostFuncs)
	}
	if g.one(3) {
		g.s.Exports = append(g.s.Exports, wasmtest.ExportEntry("_initialize", wasmedit.KindFunc, hostFuncs))
	}
	made := &generated{straight: g.straight}
	for range 1 + g.pick(4) {
		made.calls = append(made.calls, g.call(hostFuncs+g.pick(len(g.s.Funcs))))
	}
	made.getters = g.addGetters()
	for _, t := range g.types {
		g.s.Types = append(g.s.Types, wasmtest.Signature(t))
	}
	g.s.Types = g.s.Types[2:] // withHost has added the first two
	made.wasm = g.s.Encode()
	return made
}

func (g *generator) someTypes() []wasmedit.ValueType {
	var types []wasmedit.ValueType
	for range g.pick(4) {
		types = append(types, valueTypes[g.pick(len(valueTypes))])
	}
	return types
}

func (g *generator) addGlobals() {
	g.globals = []wasmedit.Global{{Type: i64, Mutable: true}, {Type: i32}, {Type: i32, Mutable: true}}
	g.s.Globals = [][]byte{wasmtest.GlobalEntry(g.globals[budget], wasmtest.I32(60))}
	g.s.Exports = append(g.s.Exports, wasmtest.ExportEntry("budget", wasmedit.KindGlobal, budget))
	for range 1 + g.pick(8) {
		global := wasmedit.Global{Type: valueTypes[g.pick(len(valueTypes))], Mutable: !g.one(4)}
		value := g.constant(global.Type)
		if global.Type == i32 && g.one(2) {
			value = wasmtest.GetGlobal(hostLimit)
		}
		g.s.Exports = append(g.s.Exports, wasmtest.ExportEntry(fmt.Sprint("global", len(g.globals)), wasmedit.KindGlobal, len(g.globals)))
		g.globals = append(g.globals, global)
		g.s.Globals = append(g.s.Globals, wasmtest.GlobalEntry(global, value))
	}
}

// addSegments adds a memory, two tables, and segments for them.
func (g *generator) addSegments() {
	g.s.Memories = [][]byte{{1, 1, 3}}
	g.s.Exports = append(g.s.Exports, wasmtest.ExportEntry("memory", wasmedit.KindMemory, 0))
	g.s.Tables = [][]byte{{byte(funcref), 1, elements, 2 * elements}, {byte(externref), 1, nulls, 2 * nulls}}
	active := bin(0, 0x41, 0, 0x0b, elements)
	for n := range g.table {
		g.table[n] = g.pick(len(g.funcs))
		active = append(active, byte(g.table[n]))
	}
	declared := bin(3, 0, len(g.funcs))
	for n := range g.funcs {
		declared = append(declared, byte(n))
	}
	null := bin(0xd0, externref, 0x0b)
	g.s.Elements = [][]byte{
		active,
		bin(5, funcref, 2, 0xd0, funcref, 0x0b, 0xd2, g.pick(len(g.funcs)), 0x0b),
		bin(5, externref, 2, null, null),
		declared,
	}
	g.s.CountData = true
	g.s.Data = [][]byte{bin(0, 0x41, 0, 0x0b, 32, g.bytes(32)), bin(1, 32, g.bytes(32))}
}

// addGetters adds a function for each of the module's own mutable globals. The function
// returns the value, because the engine's API returns only 64 bits of a global.
func (g *generator) addGetters() (names []string) {
	for n, global := range g.globals {
		if !global.Mutable || n < hostGlobals {
			continue
		}
		name := fmt.Sprint("get", n)
		names = append(names, name)
		g.types = append(g.types, wasmedit.FuncType{Results: list(global.Type)})
		g.funcs = append(g.funcs, len(g.types)-1)
		g.s.Funcs = append(g.s.Funcs, wasmtest.Index(len(g.types)-1))
		g.s.Codes = append(g.s.Codes, wasmtest.CodeEntry(nil, wasmtest.GetGlobal(n)))
		g.s.Exports = append(g.s.Exports, wasmtest.ExportEntry(name, wasmedit.KindFunc, len(g.funcs)-1))
	}
	return names
}

// call chooses the arguments of a call.
func (g *generator) call(n int) call {
	c := call{name: fmt.Sprint("f", n), t: g.types[g.funcs[n]]}
	for _, t := range c.t.Params {
		words := g.bytes(16)
		switch t {
		case v128:
			c.args = append(c.args, word(words[:8]), word(words[8:]))
		case funcref:
			c.args = append(c.args, 0) // any other value would be an address
		case i32, f32:
			c.args = append(c.args, word(words[:4]))
		default:
			c.args = append(c.args, word(words[:8]))
		}
	}
	return c
}

func word(b []byte) (w uint64) {
	for i, c := range b {
		w |= uint64(c) << (8 * i)
	}
	return w
}
