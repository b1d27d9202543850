// Package engine runs plugins: WebAssembly modules that export describe, call and
// resume (abi/README.md). The sandbox consists of wazero and of the Extism environment
// in extismenv. No package outside of this folder runs modules.
//
// Load checks a module: its size and binary format, its imports, the signatures of its
// exports, that its start function succeeds, and that its description names this ABI
// version. Load leaves one instance in the pool, so that the first call usually finds
// it.
//
// Load instruments a module before compiling it (wasmedit.Module.Instrument). The
// instrumented module counts fuel, and the host can reset an instance to its state
// after the start function. Each call has exclusive use of an instance in that state,
// and the Limits bound the call. After a failed call the engine discards only that
// instance; the next call gets another one.
//
// RunningCalls bounds how many calls run at once, however many clients there are. A
// waiting call has no instance, and its step timeout has not started. A host function
// must not run a plugin: it could wait forever for a slot while its own call holds one.
package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/tetratelabs/wazero"

	"github.com/parley-wasm/parley/host/internal/engine/extismenv"
)

// Engine loads plugins. It is safe for concurrent use. The creator must call Close.
type Engine struct {
	options Options
	runtime wazero.Runtime
	cache   wazero.CompilationCache // nil without CacheDir
	running chan struct{}           // one element per running call

	mu      sync.Mutex
	plugins map[*Plugin]struct{}
	closed  bool
}

const pagesPerMiB = 16

// New creates an engine.
func New(ctx context.Context, o *Options) (*Engine, error) {
	options, err := o.validate()
	if err != nil {
		return nil, err
	}
	e := &Engine{options: options, plugins: map[*Plugin]struct{}{}, running: make(chan struct{}, options.Limits.RunningCalls)}
	config := wazero.NewRuntimeConfig().
		// The instances' own memory type enforces the limit. The runtime's limit is one
		// page higher, because the only way to shrink a memory is to grow it by a page
		// (instance.memory.restore).
		WithMemoryLimitPages(uint32(options.Limits.MemoryMiB*pagesPerMiB + 1))
	if options.CacheDir != "" {
		if e.cache, err = openCache(options.CacheDir); err != nil {
			return nil, fmt.Errorf("engine: cache directory: %w", err)
		}
		config = config.WithCompilationCache(e.cache)
	}
	e.runtime = wazero.NewRuntimeWithConfig(ctx, config)
	if err := extismenv.Instantiate(ctx, e.runtime); err != nil {
		return nil, fmt.Errorf("engine: %w", errors.Join(err, e.release(ctx)))
	}
	if options.wasi != nil {
		if err := options.wasi(ctx, e.runtime); err != nil {
			return nil, fmt.Errorf("engine: WASI: %w", errors.Join(err, e.release(ctx)))
		}
	}
	return e, nil
}

// Close waits for running calls, then closes all plugins and the engine. If ctx ends
// first, Close returns ctx's error and can be called again.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	e.closed = true
	plugins := make([]*Plugin, 0, len(e.plugins))
	for p := range e.plugins {
		plugins = append(plugins, p)
	}
	e.mu.Unlock()
	for _, p := range plugins {
		// Closing the runtime would abort running calls.
		if err := p.Close(ctx); err != nil {
			return err
		}
	}
	if err := e.release(ctx); err != nil {
		return fmt.Errorf("engine: close: %w", err)
	}
	return nil
}

func (e *Engine) release(ctx context.Context) error {
	err := e.runtime.Close(ctx)
	if e.cache != nil {
		err = errors.Join(err, e.cache.Close(ctx))
	}
	return err
}

// enter blocks until a call may run. The caller must call leave afterwards.
func (e *Engine) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case e.running <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *Engine) leave() { <-e.running }

// add registers a plugin, so that Engine.Close closes it.
func (e *Engine) add(p *Plugin) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return errorf("load", Closed, "the engine is closed")
	}
	e.plugins[p] = struct{}{}
	return nil
}

func (e *Engine) remove(p *Plugin) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.plugins, p)
}
