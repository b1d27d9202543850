package wasmedit

import (
	"fmt"
	"slices"
	"strings"
)

// ValueType is the type of a parameter, result, local or global.
type ValueType byte

// Value types.
const (
	I32       ValueType = 0x7f
	I64       ValueType = 0x7e
	F32       ValueType = 0x7d
	F64       ValueType = 0x7c
	V128      ValueType = 0x7b
	FuncRef   ValueType = 0x70
	ExternRef ValueType = 0x6f
)

func (t ValueType) String() string {
	switch t {
	case I32:
		return "i32"
	case I64:
		return "i64"
	case F32:
		return "f32"
	case F64:
		return "f64"
	case V128:
		return "v128"
	case FuncRef:
		return "funcref"
	case ExternRef:
		return "externref"
	}
	return fmt.Sprintf("type 0x%02x", byte(t))
}

// FuncType is the signature of a function.
type FuncType struct {
	Params, Results []ValueType
}

// Equal reports whether f and g have the same parameters and results.
func (f FuncType) Equal(g FuncType) bool {
	return slices.Equal(f.Params, g.Params) && slices.Equal(f.Results, g.Results)
}

// String returns, for example, "(i64, i32) -> (i64)".
func (f FuncType) String() string {
	return list(f.Params) + " -> " + list(f.Results)
}

func list(types []ValueType) string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = t.String()
	}
	return "(" + strings.Join(names, ", ") + ")"
}

// Kind is the kind of an import or export.
type Kind byte

// Kinds of imports and exports.
const (
	KindFunc   Kind = 0
	KindTable  Kind = 1
	KindMemory Kind = 2
	KindGlobal Kind = 3
)

func (k Kind) String() string {
	switch k {
	case KindFunc:
		return "function"
	case KindTable:
		return "table"
	case KindMemory:
		return "memory"
	case KindGlobal:
		return "global"
	}
	return fmt.Sprintf("kind %d", byte(k))
}

// Limits is the size of a memory (in pages of 64 KiB) or a table (in elements).
type Limits struct {
	Min    uint64
	Max    uint64 // meaningful if HasMax
	HasMax bool
	Shared bool
	Is64   bool // 64-bit addresses
}

// Global is the type of a global.
type Global struct {
	Type    ValueType
	Mutable bool
}

// Import is one import. Type is set for functions.
type Import struct {
	Module, Name string
	Kind         Kind
	Type         FuncType
}

// String returns, for example, "extism:host/env.alloc (i64) -> (i64)".
func (i Import) String() string {
	return i.Module + "." + i.Name + " " + describe(i.Kind, i.Type)
}

// Export is one export. Index counts the entities of its kind, imported ones first.
// Type is set for functions.
type Export struct {
	Name  string
	Kind  Kind
	Index uint32
	Type  FuncType
}

// String returns, for example, "call () -> (i32)".
func (e Export) String() string {
	return e.Name + " " + describe(e.Kind, e.Type)
}

func describe(k Kind, t FuncType) string {
	if k == KindFunc {
		return t.String()
	}
	return k.String()
}
