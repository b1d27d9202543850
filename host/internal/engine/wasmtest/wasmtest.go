// Package wasmtest assembles small WebAssembly modules for tests: hostile modules,
// invalid ones, and plugins of a few instructions.
package wasmtest

import (
	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/wasmedit"
)

// Module is a module to assemble. Function indices count the imports first, then Funcs.
type Module struct {
	Imports []wasmedit.Import // functions
	Funcs   []Func
	Types   []wasmedit.FuncType // additional types, after the types of Imports and Funcs
	Empty   int                 // number of empty functions after Funcs; their type is the first one of Types
	Memory  []uint32            // minimum and maximum pages, or only the minimum; nil: no memory
	Table   []uint32            // minimum and maximum size of a table of funcref, or only the minimum; nil: no table
	Globals []Global
	Start   int    // index of the start function; 0: none
	Data    string // at address 0 of the memory
}

// Global is a global of the module. Its initial value is zero.
type Global struct {
	Type    wasmedit.ValueType
	Mutable bool
}

// zero returns a constant expression for zero, without its end instruction.
func (g Global) zero() []byte {
	switch g.Type {
	case wasmedit.I32:
		return I32(0)
	case wasmedit.I64:
		return I64(0)
	case wasmedit.V128:
		return append([]byte{0xfd, 0x0c}, make([]byte, 16)...)
	}
	panic("wasmtest: no zero for " + g.Type.String())
}

// Func is a function of the module. Body is without its end instruction.
type Func struct {
	Export string // "": not exported
	Type   wasmedit.FuncType
	Locals int // number of locals of type i64
	Body   []byte
}

// Function types of plugins.
var (
	Void         = wasmedit.FuncType{}
	Export       = wasmedit.FuncType{Results: []wasmedit.ValueType{wasmedit.I32}}
	HostFunction = wasmedit.FuncType{Params: []wasmedit.ValueType{wasmedit.I64}, Results: []wasmedit.ValueType{wasmedit.I64}}
)

// Env returns the import of a function of the Extism environment.
func Env(name string, params, results []wasmedit.ValueType) wasmedit.Import {
	return wasmedit.Import{Module: abi.EnvModule, Name: name, Type: wasmedit.FuncType{Params: params, Results: results}}
}

// User returns the import of a namespace of host functions.
func User(namespace string) wasmedit.Import {
	return wasmedit.Import{Module: abi.ImportModule, Name: namespace, Type: HostFunction}
}

// Encode assembles the module.
func (m *Module) Encode() []byte {
	var s Sections
	for _, i := range m.Imports {
		s.Types = append(s.Types, signature(i.Type))
		s.Imports = append(s.Imports, ImportEntry(i.Module, i.Name, wasmedit.KindFunc, Index(len(s.Types)-1)...))
	}
	for n, f := range m.Funcs {
		s.Types = append(s.Types, signature(f.Type))
		s.Funcs = append(s.Funcs, Index(len(s.Types)-1))
		if f.Export != "" {
			s.Exports = append(s.Exports, ExportEntry(f.Export, wasmedit.KindFunc, len(m.Imports)+n))
		}
		code := []byte{0}
		if f.Locals > 0 {
			code = append(uleb([]byte{1}, uint64(f.Locals)), byte(wasmedit.I64))
		}
		code = append(append(code, f.Body...), 0x0b)
		s.Codes = append(s.Codes, append(Index(len(code)), code...))
	}
	for _, t := range m.Types {
		s.Types = append(s.Types, signature(t))
	}
	for range m.Empty {
		s.Funcs = append(s.Funcs, Index(len(s.Types)-len(m.Types)))
		s.Codes = append(s.Codes, CodeEntry(nil, nil))
	}
	if m.Table != nil {
		s.Tables = [][]byte{append([]byte{byte(wasmedit.FuncRef)}, limits(m.Table)...)}
	}
	if m.Memory != nil {
		s.Memories = [][]byte{limits(m.Memory)}
		s.Exports = append(s.Exports, ExportEntry("memory", wasmedit.KindMemory, 0))
	}
	for _, g := range m.Globals {
		s.Globals = append(s.Globals, GlobalEntry(wasmedit.Global(g), g.zero()))
	}
	if m.Start != 0 {
		s.Start = Index(m.Start)
	}
	if m.Data != "" {
		s.CountData = true
		s.Data = [][]byte{name([]byte{0, 0x41, 0, 0x0b}, m.Data)}
	}
	return s.Encode()
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
