package wasmtest

import (
	"encoding/binary"

	"github.com/parley-wasm/parley/host/wasmedit"
)

// Sections holds the encoded entries of each section of a module. It can represent any
// module, including invalid ones.
type Sections struct {
	Types, Imports, Funcs, Tables, Memories, Globals, Exports [][]byte

	Start               []byte // the index of the start function; nil: none
	Elements            [][]byte
	CountData           bool // add a data count section, which memory.init and data.drop require
	Codes, Data, Custom [][]byte
}

// Encode assembles the module. Sections without entries are left out.
func (s *Sections) Encode() []byte {
	out := []byte("\x00asm\x01\x00\x00\x00")
	section := func(id byte, body []byte) {
		out = append(uleb(append(out, id), uint64(len(body))), body...)
	}
	entries := func(id byte, items [][]byte) {
		if len(items) > 0 {
			section(id, vector(items))
		}
	}
	entries(1, s.Types)
	entries(2, s.Imports)
	entries(3, s.Funcs)
	entries(4, s.Tables)
	entries(5, s.Memories)
	entries(6, s.Globals)
	entries(7, s.Exports)
	if s.Start != nil {
		section(8, s.Start)
	}
	entries(9, s.Elements)
	if s.CountData {
		section(12, uleb(nil, uint64(len(s.Data))))
	}
	entries(10, s.Codes)
	entries(11, s.Data)
	for _, body := range s.Custom {
		section(0, body)
	}
	return out
}

// Index encodes an unsigned number.
func Index(n int) []byte { return uleb(nil, uint64(n)) }

// Signature returns an entry of the type section.
func Signature(t wasmedit.FuncType) []byte { return signature(t) }

// ExportEntry returns an entry of the export section.
func ExportEntry(as string, kind wasmedit.Kind, index int) []byte {
	return uleb(append(name(nil, as), byte(kind)), uint64(index))
}

// ImportEntry returns an entry of the import section; description depends on the kind.
func ImportEntry(module, as string, kind wasmedit.Kind, description ...byte) []byte {
	return append(append(name(name(nil, module), as), byte(kind)), description...)
}

// GlobalEntry returns an entry of the global section; value is the initial value
// without its end instruction.
func GlobalEntry(g wasmedit.Global, value []byte) []byte {
	mutable := byte(0)
	if g.Mutable {
		mutable = 1
	}
	return append(append([]byte{byte(g.Type), mutable}, value...), 0x0b)
}

// CodeEntry returns an entry of the code section; code is without its end instruction.
func CodeEntry(locals []wasmedit.ValueType, code []byte) []byte {
	body := uleb(nil, uint64(len(locals)))
	for _, t := range locals {
		body = append(body, 1, byte(t))
	}
	body = append(append(body, code...), 0x0b)
	return append(uleb(nil, uint64(len(body))), body...)
}

func uleb(b []byte, v uint64) []byte { return binary.AppendUvarint(b, v) }
