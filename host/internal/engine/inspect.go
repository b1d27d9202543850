package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"github.com/parley-wasm/parley/host/wasmedit"
)

// Inspection is what can be said of a module without running it.
type Inspection struct {
	Size    int    // bytes
	SHA256  string // hexadecimal
	Imports []wasmedit.Import
	Exports []wasmedit.Export
	Memory  *wasmedit.Limits // the first one, in pages of 64 KiB; nil if there is none
	Start   bool             // it has a start function
	Customs []string         // names of its custom sections
}

// Inspect reads any module, one that is no plugin too. It fails only with an
// *Error of the kind NotAModule or Memory.
func Inspect(wasm []byte) (*Inspection, error) {
	m, err := parse("inspect", wasm)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(wasm)
	i := &Inspection{
		Size: len(wasm), SHA256: hex.EncodeToString(sum[:]),
		Imports: m.Imports, Exports: m.Exports, Start: m.Start != nil, Customs: m.Customs,
	}
	if len(m.Memories) > 0 {
		i.Memory = &m.Memories[0]
	}
	return i, nil
}

func parse(op string, wasm []byte) (*wasmedit.Module, error) {
	m, err := wasmedit.Parse(wasm)
	if err != nil {
		return nil, refused(op, "the module is malformed ", err)
	}
	return m, nil
}

// refused is the error of a module that wasmedit refuses.
func refused(op, why string, err error) *Error {
	if e, ok := errors.AsType[*wasmedit.Error](err); ok && e.Large {
		return &Error{op, Memory, "the module is too large " + err.Error(), err}
	}
	return &Error{op, NotAModule, why + err.Error(), err}
}
