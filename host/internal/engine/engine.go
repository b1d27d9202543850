// Package engine runs plugins: WebAssembly modules that export describe, call and
// resume (abi/README.md), in a sandbox made of wazero and the Extism environment
// of extismenv. It is the only package that knows of either.
//
// Everything about a module is checked when it is loaded: that it is one, that it
// imports only what plugins get, that its exports and their signatures are right,
// that it starts, and that it describes itself in our ABI version. A loaded
// Plugin keeps one instance warm.
//
// A module is hardened before it is compiled (wasmedit.Module.Harden): it counts
// fuel, and an instance can be put back to what it was when it had started. Each
// call runs in an instance that is just so and that no other call uses meanwhile,
// within the Limits. A call that fails, however it fails, costs its instance and
// nothing else: the next one gets another.
//
// Only so many calls run at once, whatever number of clients there is; a call
// that waits its turn has no instance and its time has not begun. So a host
// function must not run a plugin: it holds its own call's turn.
package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/tetratelabs/wazero"

	"github.com/parley-wasm/parley/host/internal/engine/extismenv"
)

// Engine loads plugins. It is safe for concurrent use; who made it closes it.
type Engine struct {
	options Options
	runtime wazero.Runtime
	cache   wazero.CompilationCache // nil without CacheDir
	running chan struct{}           // holds one element for each running call

	mu      sync.Mutex
	plugins map[*Plugin]struct{}
	closed  bool
}

const pagesPerMiB = 16

// New makes an engine.
func New(ctx context.Context, o *Options) (*Engine, error) {
	options, err := o.validate()
	if err != nil {
		return nil, err
	}
	e := &Engine{options: options, plugins: map[*Plugin]struct{}{}, running: make(chan struct{}, options.Limits.RunningCalls)}
	config := wazero.NewRuntimeConfig().
		// The limit is kept by the memory of instances, which has to grow by a page to
		// shrink.
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

// Close closes all plugins, waiting for their running calls, and the engine. If
// ctx ends first, it returns ctx's error and can be called again.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	e.closed = true
	plugins := make([]*Plugin, 0, len(e.plugins))
	for p := range e.plugins {
		plugins = append(plugins, p)
	}
	e.mu.Unlock()
	for _, p := range plugins {
		// A runtime closed under a running call would end that call.
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

// enter waits until a call may run; leave ends its turn.
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

// add registers a plugin to be closed with the engine.
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
