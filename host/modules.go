package host

import (
	"context"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/flow"
	"github.com/parley-wasm/parley/host/internal/module"
	"github.com/parley-wasm/parley/host/store"
)

// moduleOptions are how versions of the plugin are kept; db may be nil.
func (h *Host) moduleOptions(db store.Durable) *module.Options {
	o := &module.Options{
		Engine: h.engine, Store: db, Policy: h.modulePolicy, Verify: h.verify, BuiltIn: h.options.BuiltIn, Allows: h.allows, Changed: h.changed, Logger: h.options.Logger, Now: h.options.Now,
	}
	if h.services != nil {
		o.Park = h.services.flows.Park
	}
	return o
}

// allows says whether the settings let plugins use an operation of host functions.
func (h *Host) allows(capability string) bool { return h.Config().Plugins.Allows(capability) }

func (h *Host) modulePolicy() *module.Policy {
	p := &h.Config().Plugins
	keys := make([]module.Key, len(p.Keys))
	for i, k := range p.Keys {
		keys[i] = module.Key(k)
	}
	return &module.Policy{
		RequireSignature: p.RequireSignature, Keys: keys,
		TrialFailures: p.RollbackFailures, TrialSteps: p.RollbackSteps, MaxPinned: p.MaxPinned,
	}
}

// changed is called when another version is active. What the one before could not
// go on with is tried again: that may have been why it was swapped.
func (h *Host) changed(_ *module.Version, rolledBack bool) {
	if h.services != nil && !rolledBack {
		if err := h.services.flows.RetryParked(context.Background()); err != nil {
			h.options.Logger.Error("host: try parked flows again after a swap", "error", err)
		}
	}
}

// ParseTools reads the member "tools" of a JSON object, as plugins describe them
// and as Description.Tools are written.
func ParseTools(doc []byte) ([]abi.Tool, error) { return module.ParseTools(doc) }

// versions are the plugin's for flows.
type versions struct{ h *Host }

var _ flow.Versions = versions{}

// Use implements flow.Versions.
func (v versions) Use() flow.Version { return v.h.modules.Use() }

// Distrusted implements flow.Versions.
func (v versions) Distrusted(digest string) string { return v.h.modules.Distrusted(digest) }

// UseFor implements flow.Versions.
func (v versions) UseFor(ctx context.Context, f *store.Flow) (flow.Version, error) {
	version, err := v.h.modules.UseFor(ctx, f)
	if err != nil {
		return nil, err // a nil *Version would be a Version
	}
	return version, nil
}
