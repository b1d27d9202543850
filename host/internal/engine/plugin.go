package engine

import (
	"context"
	"fmt"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/engine/instance"
)

// HostFunctions serves the host functions of one call of a plugin. namespace is
// abi.ImportStore, abi.ImportAgent or abi.ImportDeliver. The engine makes one Call at a
// time. The request is valid only during the call, and the reply is copied. If Call
// returns an error, the plugin's call fails with that error. If Call panics, the
// plugin's call fails with the kind HostCall.
type HostFunctions interface {
	Call(ctx context.Context, namespace string, request []byte) (reply []byte, err error)
}

// Plugin is a loaded module. It is safe for concurrent use. The caller of Load must
// close the Plugin or the Engine.
type Plugin struct {
	engine      *Engine
	pool        *instance.Pool
	description []byte
	derives     bool // the module has the optional export derive
}

// Describe returns the output of the export describe, which Load has called once. The
// caller must not modify it.
func (p *Plugin) Describe() []byte { return p.description }

// Run calls an export with an input and returns its output, which belongs to the
// caller. Run first waits for a free slot (Limits.RunningCalls). The call ends when the
// deadline of ctx passes; after a cancellation of ctx, it ends at its next host
// function. h may be nil if the call needs no host functions. Every error is an *Error.
func (p *Plugin) Run(ctx context.Context, export string, input []byte, h HostFunctions) ([]byte, error) {
	switch {
	case export == abi.ExportCall || export == abi.ExportResume || export == abi.ExportDescribe:
	case export == abi.ExportDerive && p.derives:
	default:
		return nil, errorf("run", MissingExport, "the plugin has no export %q", export)
	}
	if err := p.engine.enter(ctx); err != nil {
		return nil, canceled(export, err, err)
	}
	defer p.engine.leave()
	i, err := p.pool.Get(ctx)
	if err != nil {
		return nil, p.engine.classify("start", err, 0)
	}
	defer p.pool.Put(i)
	output, err := i.Call(ctx, export, input, h)
	if err != nil {
		return nil, p.engine.classify(export, err, i.Memory())
	}
	return output, nil
}

// Stats returns the counts of created, reset and discarded instances.
func (p *Plugin) Stats() instance.Stats { return p.pool.Stats() }

// Close waits for running calls and releases the plugin; later calls fail with Closed.
// If ctx ends first, Close returns ctx's error and can be called again.
func (p *Plugin) Close(ctx context.Context) error {
	if err := p.pool.Close(ctx); err != nil {
		return fmt.Errorf("engine: close plugin: %w", err)
	}
	p.engine.remove(p)
	return nil
}
