package wasmtest

import (
	"encoding/binary"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/wasmedit"
)

// Function indices of the imports of a module that Plugin returns.
const (
	Alloc = iota
	StoreU64Env
	OutputSet
	ErrorSet
	InputLength
	InputLoadU64
	LoadU64Env
	Length
	Free
	StoreHost
	HTTPRequest
	LogInfo
	VarSet
	VarGet
	InputLoadU8
	OwnFuncs // index of the module's first own function, describe
)

var one, two = []wasmedit.ValueType{wasmedit.I64}, []wasmedit.ValueType{wasmedit.I64, wasmedit.I64}

// Description is the output of describe of the plugins that Plugin returns.
const Description = `{"abi":1,"name":"test","version":"0","stateVersion":1,"resumes":[1,1],"tools":[]}`

// Plugin returns a valid plugin whose export call has the given body, with two i64
// locals. The body must leave an i32 on the stack. Tests modify the result to make it
// invalid.
func Plugin(call []byte) *Module {
	return &Module{
		Imports: []wasmedit.Import{
			Env("alloc", one, one), Env("store_u64", two, nil), Env("output_set", two, nil),
			Env("error_set", one, nil), Env("input_length", nil, one), Env("input_load_u64", one, one),
			Env("load_u64", one, one), Env("length", one, one), Env("free", one, nil),
			User(abi.ImportStore), Env("http_request", two, one), Env("log_info", one, nil),
			Env("var_set", two, nil), Env("var_get", one, one), Env("input_load_u8", one, []wasmedit.ValueType{wasmedit.I32}),
		},
		Funcs: []Func{
			{Export: abi.ExportDescribe, Type: Export, Locals: 2, Body: Code(SetOutput(Description), I32(0))},
			{Export: abi.ExportCall, Type: Export, Locals: 2, Body: call},
			{Export: abi.ExportResume, Type: Export, Locals: 2, Body: I32(0)},
		},
		Memory: []uint32{1},
	}
}

// Block returns code that allocates a block with this text, padded to a multiple of
// eight bytes, and stores its offset in local 0.
func Block(text string) []byte {
	padded := append([]byte(text), make([]byte, (8-len(text)%8)%8)...)
	code := Code(I64(int64(len(padded))), Call(Alloc), Set(0))
	for i := 0; i < len(padded); i += 8 {
		code = Code(code, Get(0), I64(int64(i)), I64Add,
			I64(int64(binary.LittleEndian.Uint64(padded[i:]))), Call(StoreU64Env))
	}
	return code
}

// SetOutput returns code that sets a text as the output. The code uses local 0.
func SetOutput(text string) []byte {
	return Code(Block(text), Get(0), I64(int64(len(text))), Call(OutputSet))
}

// Report returns code whose output is the i64 values that the parts push. The code uses
// local 0.
func Report(parts ...[]byte) []byte {
	code := Code(I64(int64(8*len(parts))), Call(Alloc), Set(0))
	for n, p := range parts {
		code = Code(code, Get(0), I64(int64(8*n)), I64Add, p, Call(StoreU64Env))
	}
	return Code(code, Get(0), I64(int64(8*len(parts))), Call(OutputSet))
}
