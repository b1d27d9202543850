package extismenv

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/wasmedit"
)

// callContext carries the Env of a running call to the functions of this package, which
// all instances of a runtime share.
type callContext struct {
	context.Context
	env *Env
}

// function is one function that plugins may import. When call starts, the stack holds
// the arguments; call replaces them by the result.
type function struct {
	name            string
	params, results []wasmedit.ValueType
	call            func(c *callContext, stack []uint64)
}

var (
	none = []wasmedit.ValueType(nil)
	i32  = []wasmedit.ValueType{wasmedit.I32}
	i64  = []wasmedit.ValueType{wasmedit.I64}
)

var environment = []function{
	{"alloc", i64, i64, func(c *callContext, s []uint64) {
		if s[0] == 0 {
			return
		}
		off, b, f := c.env.mem.alloc(s[0])
		check(f)
		clear(b)
		s[0] = off
	}},
	{"free", i64, none, func(c *callContext, s []uint64) { c.env.mem.release(s[0]) }},
	{"length", i64, i64, length},
	{"length_unsafe", i64, i64, length},
	{"load_u8", i64, i32, func(c *callContext, s []uint64) {
		b, f := c.env.mem.span("load_u8", s[0], 1)
		check(f)
		s[0] = uint64(b[0])
	}},
	{"load_u64", i64, i64, func(c *callContext, s []uint64) {
		b, f := c.env.mem.span("load_u64", s[0], 8)
		check(f)
		s[0] = binary.LittleEndian.Uint64(b)
	}},
	{"store_u8", []wasmedit.ValueType{wasmedit.I64, wasmedit.I32}, none, func(c *callContext, s []uint64) {
		b, f := c.env.mem.span("store_u8", s[0], 1)
		check(f)
		b[0] = byte(s[1])
	}},
	{"store_u64", []wasmedit.ValueType{wasmedit.I64, wasmedit.I64}, none, func(c *callContext, s []uint64) {
		b, f := c.env.mem.span("store_u64", s[0], 8)
		check(f)
		binary.LittleEndian.PutUint64(b, s[1])
	}},
	{"input_length", none, i64, func(c *callContext, s []uint64) { s[0] = c.env.input.size }},
	{"input_offset", none, i64, func(c *callContext, s []uint64) { s[0] = c.env.input.off }},
	{"input_load_u8", i64, i32, func(c *callContext, s []uint64) { s[0] = uint64(input(c.env, "input_load_u8", s[0], 1)[0]) }},
	{"input_load_u64", i64, i64, func(c *callContext, s []uint64) {
		s[0] = binary.LittleEndian.Uint64(input(c.env, "input_load_u64", s[0], 8))
	}},
	{"output_set", []wasmedit.ValueType{wasmedit.I64, wasmedit.I64}, none, func(c *callContext, s []uint64) { c.env.setOutput(s[0], s[1]) }},
	{"error_set", i64, none, func(c *callContext, s []uint64) { c.env.setError(s[0]) }},
	{"error_get", none, i64, func(c *callContext, s []uint64) { s[0] = c.env.errorOffset }},
	{"config_get", i64, i64, func(c *callContext, s []uint64) {
		_, f := c.env.mem.contents("config_get", s[0])
		check(f)
		s[0] = 0
	}},
	{"var_get", i64, i64, func(c *callContext, s []uint64) { s[0] = c.env.varGet(s[0]) }},
	{"var_set", []wasmedit.ValueType{wasmedit.I64, wasmedit.I64}, none, func(c *callContext, s []uint64) { c.env.varSet(s[0], s[1]) }},
	{"http_request", []wasmedit.ValueType{wasmedit.I64, wasmedit.I64}, i64, func(*callContext, []uint64) {
		check(faultf(Refused, "http_request: plugins have no network; ask the host through its functions"))
	}},
	{"http_status_code", none, i32, func(_ *callContext, s []uint64) { s[0] = 0 }},
	{"http_headers", none, i64, func(_ *callContext, s []uint64) { s[0] = 0 }},
	{"log_trace", i64, none, logger("log_trace", slog.LevelDebug-4)},
	{"log_debug", i64, none, logger("log_debug", slog.LevelDebug)},
	{"log_info", i64, none, logger("log_info", slog.LevelInfo)},
	{"log_warn", i64, none, logger("log_warn", slog.LevelWarn)},
	{"log_error", i64, none, logger("log_error", slog.LevelError)},
	{"get_log_level", none, i32, func(c *callContext, s []uint64) { s[0] = uint64(logLevel(c, c.env.options.Logger)) }},
}

var user = []function{
	{abi.ImportStore, i64, i64, hostFunction(abi.ImportStore)},
	{abi.ImportAgent, i64, i64, hostFunction(abi.ImportAgent)},
	{abi.ImportDeliver, i64, i64, hostFunction(abi.ImportDeliver)},
}

var modules = map[string][]function{abi.EnvModule: environment, abi.ImportModule: user}

// Signature returns the signature of a function that plugins may import.
func Signature(module, name string) (wasmedit.FuncType, bool) {
	for _, f := range modules[module] {
		if f.name == name {
			return wasmedit.FuncType{Params: f.params, Results: f.results}, true
		}
	}
	return wasmedit.FuncType{}, false
}

// Instantiate makes both modules importable in a runtime. The modules are stateless: a
// plugin must be called with the context that Env.Begin returns, which carries the Env.
func Instantiate(ctx context.Context, rt wazero.Runtime) error {
	for name, functions := range modules {
		b := rt.NewHostModuleBuilder(name)
		for _, f := range functions {
			call := f.call
			b.NewFunctionBuilder().WithGoFunction(api.GoFunc(func(ctx context.Context, stack []uint64) {
				call(ctx.(*callContext), stack)
			}), types(f.params), types(f.results)).Export(f.name)
		}
		if _, err := b.Instantiate(ctx); err != nil {
			return fmt.Errorf("module %s: %w", name, err)
		}
	}
	return nil
}

func types(in []wasmedit.ValueType) []api.ValueType {
	out := make([]api.ValueType, len(in))
	for i, t := range in {
		out[i] = api.ValueType(t)
	}
	return out
}

// length returns 0 if no block begins at the offset, like Extism; plugins rely on that.
func length(c *callContext, s []uint64) {
	if b := c.env.mem.at(s[0]); b != nil {
		s[0] = b.size
	} else {
		s[0] = 0
	}
}

// input returns n bytes at an offset of the input.
func input(e *Env, op string, off, n uint64) []byte {
	if off > e.input.size || n > e.input.size-off {
		check(accessf("%s: %d bytes at %d reach past the input of %d bytes", op, n, off, e.input.size))
	}
	b, f := e.mem.span(op, e.input.off+off, n)
	check(f)
	return b
}

func hostFunction(name string) func(*callContext, []uint64) {
	return func(c *callContext, s []uint64) { s[0] = c.env.call(name, s[0]) }
}

func logger(op string, level slog.Level) func(*callContext, []uint64) {
	return func(c *callContext, s []uint64) { c.env.log(c.Context, op, level, s[0]) }
}

// logLevel returns the lowest enabled level as Extism's number, from 0 (trace) to 4
// (error), or MaxInt32 if logging is disabled.
func logLevel(ctx context.Context, l *slog.Logger) int32 {
	for n, level := range []slog.Level{slog.LevelDebug - 4, slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
		if l.Enabled(ctx, level) {
			return int32(n)
		}
	}
	return math.MaxInt32
}
