package engine

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/tetratelabs/wazero"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonstrict"
	"github.com/parley-wasm/parley/host/engine/extismenv"
	"github.com/parley-wasm/parley/host/engine/instance"
	"github.com/parley-wasm/parley/host/engine/wasmedit"
)

// maxTable bounds the elements of a table, in modules whose tables may grow too:
// each takes eight bytes that no other limit counts.
const maxTable = 1 << 20

// Load checks a module, compiles it, starts an instance and reads its
// description. Errors are an *Error; wasm is not used after Load returns.
func (e *Engine) Load(ctx context.Context, wasm []byte) (*Plugin, error) {
	if err := e.check(wasm); err != nil {
		return nil, err
	}
	compiled, err := e.compile(ctx, wasm)
	if err != nil {
		return nil, &Error{"load", NotAModule, "the module is not valid: " + firstLine(err), err}
	}
	p := &Plugin{engine: e, pool: instance.NewPool(e.config(compiled))}
	if err := e.add(p); err != nil {
		return nil, errors.Join(err, p.Close(ctx))
	}
	if err := p.describe(ctx); err != nil {
		if closing := p.Close(ctx); closing != nil {
			return nil, errors.Join(err, closing)
		}
		return nil, err
	}
	return p, nil
}

func (e *Engine) config(module wazero.CompiledModule) instance.Config {
	l := &e.options.Limits
	return instance.Config{
		Runtime: e.runtime, Module: module,
		Env: extismenv.Options{
			MaxMemory: l.EnvironmentMiB << 20, MaxOutput: l.OutputBytes, Logger: e.options.Logger,
		},
		MaxCalls: l.CallsPerInstance, MaxGrowth: uint32(l.GrowthMiB) << 20, MaxIdle: l.IdleInstances,
	}
}

// check is everything that can be said without running the module.
func (e *Engine) check(wasm []byte) error {
	if max := e.options.Limits.ModuleBytes; len(wasm) > max {
		return errorf("load", Memory, "the module has %d bytes; at most %d are accepted", len(wasm), max)
	}
	m, err := wasmedit.Parse(wasm)
	if err != nil {
		return &Error{"load", NotAModule, "the module is malformed " + err.Error(), err}
	}
	for _, i := range m.Imports {
		if err := checkImport(i); err != nil {
			return err
		}
	}
	for _, name := range []string{abi.ExportDescribe, abi.ExportCall, abi.ExportResume} {
		if err := checkExport(m, name); err != nil {
			return err
		}
	}
	if m.Export("_initialize") != nil {
		return errorf("load", MissingExport, "the module exports _initialize, which hosts do not call; make it the module's start function when building")
	}
	return e.checkSizes(m)
}

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

func checkExport(m *wasmedit.Module, name string) error {
	want := wasmedit.FuncType{Results: []wasmedit.ValueType{wasmedit.I32}}
	switch e := m.Export(name); {
	case e == nil:
		return errorf("load", MissingExport, "the module does not export %q; a plugin exports %s, %s and %s",
			name, abi.ExportDescribe, abi.ExportCall, abi.ExportResume)
	case e.Kind != wasmedit.KindFunc || !e.Type.Equal(want):
		return errorf("load", BadSignature, "the module exports %s; it must be a function %s", clip(e.String()), want)
	}
	return nil
}

func (e *Engine) checkSizes(m *wasmedit.Module) error {
	for _, mem := range m.Memories {
		if limit := uint64(e.options.Limits.MemoryMiB * pagesPerMiB); mem.Min > limit {
			return errorf("load", Memory, "the module starts with %d pages of memory; the limit is %d (%d MiB)",
				mem.Min, limit, e.options.Limits.MemoryMiB)
		}
	}
	for _, t := range m.Tables {
		if !t.HasMax || t.Max > maxTable {
			return errorf("load", Memory, "a table of the module can grow beyond %d elements; give it a maximum", maxTable)
		}
	}
	return nil
}

// describe reads and checks the plugin's description. The instance that gave it
// stays as the warm one.
func (p *Plugin) describe(ctx context.Context) error {
	doc, err := p.Run(ctx, abi.ExportDescribe, nil, nil)
	if err != nil {
		return err
	}
	if err := jsonstrict.Check(doc); err != nil {
		return &Error{"describe", BadDescription, "the plugin's description is not strict JSON: " + err.Error(), err}
	}
	var members map[string]json.RawMessage // exact names, unlike a struct's
	if err := json.Unmarshal(doc, &members); err != nil {
		return &Error{"describe", BadDescription, "the plugin's description is no JSON object", err}
	}
	version, err := strconv.Atoi(string(members["abi"]))
	switch {
	case err != nil:
		return errorf("describe", BadDescription, "the plugin's description states no ABI version: its member abi must be a whole number")
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
