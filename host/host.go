// Package host embeds Parley in a Go program: it loads the plugin into a
// sandbox and answers tool calls with it.
//
//	h, err := host.New(ctx, wasm.Parley, &host.Options{Store: db})
//	…
//	answer, err := h.Call(ctx, &host.Call{
//		Tool:   "sessions_list",
//		Args:   []byte(`{"limit": 5}`),
//		Caller: abi.Caller{SessionKey: "agent:main:main"},
//	})
//
// The embedder alone decides the caller: a tool's arguments cannot change it.
//
// With a store.Durable, and after Start, the host also executes the work that tool
// calls and inbound messages create: flows, agent runs and deliveries.
package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/internal/engine"
	"github.com/parley-wasm/parley/host/internal/module"
	"github.com/parley-wasm/parley/host/internal/step"
	"github.com/parley-wasm/parley/host/store"
)

// Limits in bytes: MaxArgs for the arguments of a call, MaxModule (the default) for a
// module.
const (
	MaxArgs   = 2 << 20
	MaxModule = 32 << 20
)

// Host answers tool calls. It is safe for concurrent use. The caller of New must call
// Close.
type Host struct {
	options  Options
	engine   *engine.Engine
	modules  *module.Registry
	steps    *step.Runner
	settings atomic.Pointer[settings]
	services *services // nil without a store.Durable
}

// New loads and checks the plugin and returns a Host that serves it. With a
// store.Durable, the version that was active when the store was last used may serve
// instead: see module.Open.
func New(ctx context.Context, wasm []byte, o *Options) (*Host, error) {
	options, err := o.validate()
	if err != nil {
		return nil, err
	}
	if options.Origin == store.OriginBuiltIn {
		options.BuiltIn = wasm
	}
	h := &Host{options: options}
	h.engine, err = engine.New(ctx, &engine.Options{
		CacheDir: options.CacheDir, Limits: options.Limits, Logger: options.Logger,
	})
	if err != nil {
		return nil, fmt.Errorf("host: %w", err)
	}
	h.steps = &step.Runner{Store: options.Store, Limits: options.Effects, Logger: options.Logger, Observe: options.Observe}
	h.settings.Store(&settings{config: options.Config})
	durable, _ := options.Store.(store.Durable)
	if durable != nil {
		if h.services, err = h.newServices(durable); err != nil {
			return nil, fmt.Errorf("host: %w", errors.Join(err, h.engine.Close(ctx)))
		}
	}
	h.modules, err = module.Open(ctx, h.moduleOptions(durable), &module.File{Wasm: wasm, Origin: options.Origin, Signature: options.Signature})
	if err != nil {
		return nil, fmt.Errorf("host: %w", errors.Join(err, h.close(ctx)))
	}
	h.Configure(options.Config)
	return h, nil
}

// Close drains the host (see Drain), releases waiting callers, waits for the flow steps
// and posts in progress, and releases the sandbox. If ctx ends first, Close interrupts
// the work in progress. Everything that is queued or interrupted, deliveries included,
// stays in the store, and the next Host on it continues. The store stays open.
func (h *Host) Close(ctx context.Context) error {
	return h.close(ctx)
}

func (h *Host) close(ctx context.Context) error {
	var err error
	if h.services != nil {
		err = h.services.close(ctx)
	}
	ctx = context.WithoutCancel(ctx)
	if h.modules != nil {
		err = errors.Join(err, h.modules.Close(ctx))
	}
	return errors.Join(err, h.engine.Close(ctx))
}

// About returns the active plugin's description. The caller must not change it.
func (h *Host) About() *abi.Description { return h.modules.Active().About }

// Tools returns the active plugin's tools. The caller must not change the slice.
func (h *Host) Tools() []abi.Tool { return h.About().Tools }

// ToolsFor returns the tools that the caller may use under the current settings: all
// of them, unless the caller is a child session or a run of one (S5.4).
func (h *Host) ToolsFor(ctx context.Context, c abi.Caller) ([]abi.Tool, error) {
	c, err := h.completeCaller(ctx, c)
	if err != nil {
		return nil, err
	}
	return h.allowedTools(c), nil
}

func (h *Host) allowedTools(c abi.Caller) []abi.Tool {
	settings := h.Config()
	return slices.DeleteFunc(slices.Clone(h.Tools()), func(t abi.Tool) bool {
		return settings.Tools.Subagents.Check(&c, t.Name) != nil
	})
}

// Config returns the current settings.
func (h *Host) Config() *config.Config { return h.settings.Load().config }

// Configure replaces the settings for every step that starts from now on.
func (h *Host) Configure(c *config.Config) {
	h.settings.Store(&settings{config: c})
	for _, v := range h.modules.NotAdmitted() {
		h.options.Logger.Warn("host: plugins.requireSignature and plugins.keys no longer admit this version; it serves until the next swap or start",
			"version", v.String(), "active", v == h.modules.Active())
	}
	if h.services != nil {
		h.services.configure(c)
	}
}
