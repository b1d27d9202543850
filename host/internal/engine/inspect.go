package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"github.com/parley-wasm/parley/host/wasmedit"
)

// Inspection describes a module without running it.
type Inspection struct {
	Size    int      `json:"size"`   // bytes
	SHA256  string   `json:"sha256"` // hexadecimal
	Imports []string `json:"imports"`
	Exports []string `json:"exports"`
	Memory  *Pages   `json:"memory,omitempty"` // the first one; nil without a memory
	Start   bool     `json:"start"`            // the module has a start function
	Customs []string `json:"customSections"`   // their names
}

// Pages is the size of a memory, in pages of 64 KiB.
type Pages struct {
	Min uint64 `json:"minPages"`
	Max uint64 `json:"maxPages,omitempty"` // 0: no maximum
}

// Inspect describes any module, including one that is not a plugin. Every error is an
// *Error of the kind NotAModule or Memory.
func Inspect(wasm []byte) (*Inspection, error) {
	m, err := parse("inspect", wasm)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(wasm)
	i := &Inspection{
		Size: len(wasm), SHA256: hex.EncodeToString(sum[:]),
		Imports: []string{}, Exports: []string{}, Start: m.Start != nil, Customs: append([]string{}, m.Customs...),
	}
	for _, x := range m.Imports {
		i.Imports = append(i.Imports, x.String())
	}
	for _, x := range m.Exports {
		i.Exports = append(i.Exports, x.String())
	}
	if len(m.Memories) > 0 {
		i.Memory = &Pages{m.Memories[0].Min, m.Memories[0].Max}
	}
	return i, nil
}

func parse(op string, wasm []byte) (*wasmedit.Module, error) {
	m, err := wasmedit.Parse(wasm)
	if err != nil {
		return nil, editError(op, "the module is malformed ", err)
	}
	return m, nil
}

// editError translates an error of wasmedit into an *Error.
func editError(op, why string, err error) *Error {
	if e, ok := errors.AsType[*wasmedit.Error](err); ok && e.Large {
		return &Error{op, Memory, "the module is too large " + err.Error(), err}
	}
	return &Error{op, NotAModule, why + err.Error(), err}
}
