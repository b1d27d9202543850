// Package wasmtest assembles small WebAssembly modules for tests: hostile ones,
// wrong ones, and plugins of a few instructions.
package wasmtest

import (
	"encoding/binary"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/engine/wasmedit"
)

// Module is a module to assemble. Functions are numbered imports first, then
// Funcs.
type Module struct {
	Imports []wasmedit.Import // functions
	Funcs   []Func
	Memory  []uint32 // minimum and maximum pages, or the minimum alone; nil = no memory
	Table   []uint32 // likewise, of funcref
	Globals []Global
	Start   int    // number of the start function; 0 = none
	Data    string // at address 0 of the memory
}

// Global is a global of the module, which begins as zero.
type Global struct {
	Type    wasmedit.ValueType
	Mutable bool
}

// zero is the constant expression of a number's zero.
func (g Global) zero() []byte {
	switch g.Type {
	case wasmedit.I32:
		return I32(0)
	case wasmedit.I64:
		return I64(0)
	case wasmedit.V128:
		return append([]byte{0xfd, 0x0c}, make([]byte, 16)...)
	}
	panic("wasmtest: no zero of " + g.Type.String())
}

// Func is a function of the module. Body is without its final end.
type Func struct {
	Export string // "" = not exported
	Type   wasmedit.FuncType
	Locals int // of type i64
	Body   []byte
}

// Types of the functions that plugins have.
var (
	Void   = wasmedit.FuncType{}
	Export = wasmedit.FuncType{Results: []wasmedit.ValueType{wasmedit.I32}}
	Family = wasmedit.FuncType{Params: []wasmedit.ValueType{wasmedit.I64}, Results: []wasmedit.ValueType{wasmedit.I64}}
)

// Env returns the import of a function of the Extism environment.
func Env(name string, params, results []wasmedit.ValueType) wasmedit.Import {
	return wasmedit.Import{Module: abi.EnvModule, Name: name, Type: wasmedit.FuncType{Params: params, Results: results}}
}

// User returns the import of a family of host functions.
func User(family string) wasmedit.Import {
	return wasmedit.Import{Module: abi.ImportModule, Name: family, Type: Family}
}

// Encode assembles the module.
func (m *Module) Encode() []byte {
	out := []byte("\x00asm\x01\x00\x00\x00")
	section := func(id byte, items [][]byte) {
		if len(items) == 0 {
			return
		}
		body := vector(items)
		out = append(uleb(append(out, id), uint64(len(body))), body...)
	}
	var types, imports, funcs, globals, exports, codes [][]byte
	for _, i := range m.Imports {
		types = append(types, signature(i.Type))
		b := append(name(nil, i.Module), name(nil, i.Name)...)
		imports = append(imports, uleb(append(b, 0), uint64(len(types)-1)))
	}
	for n, f := range m.Funcs {
		types = append(types, signature(f.Type))
		funcs = append(funcs, uleb(nil, uint64(len(types)-1)))
		if f.Export != "" {
			exports = append(exports, uleb(append(name(nil, f.Export), 0), uint64(len(m.Imports)+n)))
		}
		code := []byte{0}
		if f.Locals > 0 {
			code = append(uleb([]byte{1}, uint64(f.Locals)), byte(wasmedit.I64))
		}
		code = append(append(code, f.Body...), 0x0b)
		codes = append(codes, append(uleb(nil, uint64(len(code))), code...))
	}
	section(1, types)
	section(2, imports)
	section(3, funcs)
	if m.Table != nil {
		section(4, [][]byte{append([]byte{byte(wasmedit.FuncRef)}, limits(m.Table)...)})
	}
	if m.Memory != nil {
		section(5, [][]byte{limits(m.Memory)})
		exports = append(exports, append(name(nil, "memory"), 2, 0))
	}
	for _, g := range m.Globals {
		mutable := byte(0)
		if g.Mutable {
			mutable = 1
		}
		globals = append(globals, append(append([]byte{byte(g.Type), mutable}, g.zero()...), 0x0b))
	}
	section(6, globals)
	section(7, exports)
	if m.Start != 0 {
		start := uleb(nil, uint64(m.Start))
		out = append(uleb(append(out, 8), uint64(len(start))), start...)
	}
	if m.Data != "" {
		out = append(out, 12, 1, 1) // memory.init and data.drop need the count first
	}
	section(10, codes)
	if m.Data != "" {
		section(11, [][]byte{name([]byte{0, 0x41, 0, 0x0b}, m.Data)})
	}
	return out
}

func vector(items [][]byte) []byte {
	b := uleb(nil, uint64(len(items)))
	for _, i := range items {
		b = append(b, i...)
	}
	return b
}

func signature(t wasmedit.FuncType) []byte {
	b := []byte{0x60}
	for _, list := range [][]wasmedit.ValueType{t.Params, t.Results} {
		b = uleb(b, uint64(len(list)))
		for _, v := range list {
			b = append(b, byte(v))
		}
	}
	return b
}

func limits(l []uint32) []byte {
	b := uleb([]byte{byte(len(l) - 1)}, uint64(l[0]))
	for _, max := range l[1:] {
		b = uleb(b, uint64(max))
	}
	return b
}

func name(b []byte, s string) []byte { return append(uleb(b, uint64(len(s))), s...) }

func uleb(b []byte, v uint64) []byte { return binary.AppendUvarint(b, v) }
