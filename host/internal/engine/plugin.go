package engine

import (
	"context"
	"fmt"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/engine/instance"
)

// HostFunctions serves the host functions of one call; family is one of
// abi.ImportStore, abi.ImportAgent and abi.ImportDeliver. It is called by one
// goroutine at a time, the request is only valid during the call, and the reply
// is copied. An error ends the plugin's call with it, a panic with HostCall.
type HostFunctions interface {
	Call(ctx context.Context, namespace string, request []byte) (reply []byte, err error)
}

// Plugin is a loaded module. It is safe for concurrent use; it is closed by who
// loaded it, or with its engine.
type Plugin struct {
	engine      *Engine
	pool        *instance.Pool
	description []byte
	derives     bool // it has the export derive, which it may do without
}

// Describe returns the output of describe, which was read once when the plugin
// was loaded. It must not be changed.
func (p *Plugin) Describe() []byte { return p.description }

// Run calls an export with an input and returns its output, which belongs to the
// caller. It may have to wait its turn first (Limits.RunningCalls). When ctx ends,
// so does the call, at the latest at its next host function. h may be nil for a
// call that needs no host functions. Errors are an *Error.
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

// Stats says what became of the plugin's instances.
func (p *Plugin) Stats() instance.Stats { return p.pool.Stats() }

// Close waits for the running calls and releases the plugin; later calls fail
// with Closed. If ctx ends first, it returns ctx's error and can be called again.
func (p *Plugin) Close(ctx context.Context) error {
	if err := p.pool.Close(ctx); err != nil {
		return fmt.Errorf("engine: close plugin: %w", err)
	}
	p.engine.remove(p)
	return nil
}
