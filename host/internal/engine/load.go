package engine

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonstrict"
	"github.com/parley-wasm/parley/host/internal/engine/extismenv"
	"github.com/parley-wasm/parley/host/internal/engine/instance"
	"github.com/parley-wasm/parley/host/wasmedit"
)

// maxTable bounds the sum of the maximum sizes of a module's tables, in elements. An
// element takes eight bytes, which no other limit counts.
const maxTable = 1 << 20

// Bounds of one function type, which protect the compiler.
const (
	maxParams  = 64
	maxResults = 16
)

// Load checks a module, instruments and compiles it, starts an instance and reads its
// description. Every error matches an *Error with errors.As. Load does not retain wasm.
func (e *Engine) Load(ctx context.Context, wasm []byte) (*Plugin, error) {
	m, err := e.check(wasm)
	if err != nil {
		return nil, err
	}
	instrumented, err := m.Instrument()
	if err != nil {
		return nil, editError("load", "the module cannot be instrumented: ", err)
	}
	compiled, err := e.compileInTime(ctx, m.Encode())
	if err != nil {
		return nil, err
	}
	config := e.config(compiled, instrumented)
	config.Direct = !e.options.KernelCallsOnly && m.Export(abi.ExportInput) != nil
	p := &Plugin{engine: e, pool: instance.NewPool(config), derives: m.Export(abi.ExportDerive) != nil}
	// The plugin has no running calls, so Close does not block.
	closing := context.WithoutCancel(ctx)
	if err := e.add(p); err != nil {
		return nil, errors.Join(err, p.Close(closing))
	}
	if err := p.describe(ctx); err != nil {
		if left := p.Close(closing); left != nil {
			return nil, errors.Join(err, left)
		}
		return nil, err
	}
	return p, nil
}

// compileInTime compiles a module. It fails when ctx ends or Limits.Compilation has
// passed.
func (e *Engine) compileInTime(ctx context.Context, wasm []byte) (wazero.CompiledModule, error) {
	timed, cancel := context.WithTimeout(ctx, e.options.Limits.Compilation)
	defer cancel()
	// Only wazero's concurrent compiler checks the context. It does so after each
	// function.
	compiled, err := e.compile(experimental.WithCompilationWorkers(timed, 2), wasm)
	switch {
	case err == nil:
		return compiled, nil
	case ctx.Err() != nil:
		return nil, canceled("load", ctx.Err(), err)
	case timed.Err() != nil:
		return nil, errorf("load", Time, "the module takes longer than %v to compile", e.options.Limits.Compilation)
	}
	return nil, &Error{"load", NotAModule, "the module is not valid: " + firstLine(err), err}
}

func (e *Engine) config(module wazero.CompiledModule, instrumented wasmedit.Instrumented) instance.Config {
	l := &e.options.Limits
	return instance.Config{
		Runtime: e.runtime, Module: module, Instrumented: instrumented,
		Env: extismenv.Options{
			MaxIn: l.InMiB << 20, MaxOut: l.OutMiB << 20, MaxHostCalls: l.HostCalls, MaxLogLines: l.LogLines, Logger: e.options.Logger,
		},
		Fuel: int64(l.Fuel), Timeout: l.StepTimeout, MaxMemory: uint64(l.MemoryMiB) << 20,
		MaxGrowth: l.GrowthMiB << 20, MaxIdle: l.IdleInstances,
	}
}

// check runs all checks that do not execute the module.
func (e *Engine) check(wasm []byte) (*wasmedit.Module, error) {
	if max := e.options.Limits.ModuleBytes; len(wasm) > max {
		return nil, errorf("load", Memory, "the module has %d bytes; at most %d are accepted", len(wasm), max)
	}
	m, err := parse("load", wasm)
	if err != nil {
		return nil, err
	}
	for _, i := range m.Imports {
		if e.options.wasi != nil && i.Module == moduleWASI {
			continue
		}
		if err := checkImport(i); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{abi.ExportDescribe, abi.ExportCall, abi.ExportResume} {
		if m.Export(name) == nil {
			return nil, errorf("load", MissingExport, "the module does not export %q; a plugin exports %s, %s and %s",
				name, abi.ExportDescribe, abi.ExportCall, abi.ExportResume)
		}
	}
	for name, want := range signatures {
		if e := m.Export(name); e != nil && (e.Kind != wasmedit.KindFunc || !e.Type.Equal(want)) {
			return nil, errorf("load", BadSignature, "the module exports %s; it must be a function %s", clip(e.String()), want)
		}
	}
	return m, e.checkSizes(m)
}

const moduleWASI = "wasi_snapshot_preview1"

func checkImport(i wasmedit.Import) error {
	want, ok := extismenv.Signature(i.Module, i.Name)
	switch {
	case !ok || i.Kind != wasmedit.KindFunc:
		return errorf("load", BadImport, "the module imports %s; a plugin gets only functions of %q and %q, and no WASI",
			clip(i.String()), abi.EnvModule, abi.ImportModule)
	case !i.Type.Equal(want):
		return errorf("load", BadSignature, "the module imports %s; the signature is %s", clip(i.String()), want)
	}
	return nil
}

// signatures holds the required signatures of the exports that the host calls.
var signatures = func() map[string]wasmedit.FuncType {
	i32 := []wasmedit.ValueType{wasmedit.I32}
	entry := wasmedit.FuncType{Results: i32}
	return map[string]wasmedit.FuncType{
		abi.ExportDescribe: entry, abi.ExportDerive: entry, abi.ExportCall: entry, abi.ExportResume: entry,
		abi.ExportInput: {Params: i32, Results: i32},
	}
}()

func (e *Engine) checkSizes(m *wasmedit.Module) error {
	// An instrumented module enters the host by memory.grow
	// (wasmedit.Module.Instrument).
	if len(m.Memories) != 1 {
		return errorf("load", NotAModule, "the module has %d memories; a plugin has one", len(m.Memories))
	}
	for _, mem := range m.Memories {
		if limit := uint64(e.options.Limits.MemoryMiB * pagesPerMiB); mem.Min > limit {
			return errorf("load", Memory, "the module starts with %d pages of memory; the limit is %d (%d MiB)",
				mem.Min, limit, e.options.Limits.MemoryMiB)
		}
	}
	room := uint64(maxTable)
	for _, t := range m.Tables {
		if !t.HasMax || t.Max > room {
			return errorf("load", Memory, "the tables of the module can grow beyond %d elements; give each a maximum", maxTable)
		}
		room -= t.Max
	}
	return checkTypes(m)
}

func checkTypes(m *wasmedit.Module) error {
	for i, t := range m.Types {
		if len(t.Params) > maxParams || len(t.Results) > maxResults {
			return errorf("load", Memory, "type %d of the module has %d parameters and %d results; at most %d and %d are accepted",
				i, len(t.Params), len(t.Results), maxParams, maxResults)
		}
	}
	return nil
}

// describe reads and checks the plugin's description. The instance that runs describe
// stays in the pool.
func (p *Plugin) describe(ctx context.Context) error {
	doc, err := p.Run(ctx, abi.ExportDescribe, nil, nil)
	if err != nil {
		return err
	}
	if err := jsonstrict.Check(doc); err != nil {
		return &Error{"describe", BadDescription, "the plugin's description is not strict JSON: " + err.Error(), err}
	}
	var members map[string]json.RawMessage // a struct would ignore the case of names
	if err := json.Unmarshal(doc, &members); err != nil {
		return &Error{"describe", BadDescription, "the plugin's description is not a JSON object", err}
	}
	version, err := strconv.Atoi(string(members["abi"]))
	switch {
	case err != nil:
		return errorf("describe", BadDescription, "the plugin's description has no ABI version: its member abi must be a whole number")
	case version != abi.Version:
		return errorf("describe", WrongABI, "the plugin speaks ABI version %d and this host version %d; build the plugin for this host, or use another host", version, abi.Version)
	}
	p.description = doc
	return nil
}

func clip(s string) string {
	if len(s) > 120 {
		return s[:120] + "…"
	}
	return s
}
