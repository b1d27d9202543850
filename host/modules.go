package host

import (
	"context"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/flow"
	"github.com/parley-wasm/parley/host/internal/module"
	"github.com/parley-wasm/parley/host/store"
)

// moduleOptions returns the options of the module registry; db may be nil.
func (h *Host) moduleOptions(db store.Durable) *module.Options {
	o := &module.Options{
		Engine: h.engine, Store: db, Policy: h.modulePolicy, Verify: h.verify, BuiltIn: h.options.BuiltIn, Allows: h.allows, Changed: h.changed, Logger: h.options.Logger, Now: h.options.Now,
	}
	if h.services != nil {
		o.Park = h.services.flows.Park
	}
	return o
}

// allows reports whether the settings let plugins use a host-function operation.
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

// changed is called after another version has become active. Except after a rollback,
// it retries parked flows, because the swap may have been made to fix them.
func (h *Host) changed(_ *module.Version, rolledBack bool) {
	if h.services != nil && !rolledBack {
		if err := h.services.flows.RetryParked(context.Background()); err != nil {
			h.options.Logger.Error("host: cannot retry parked flows after a swap", "error", err)
		}
	}
}

// ParseTools parses the member "tools" of a JSON object. The member has the form of
// "tools" in a plugin's description (abi.Description).
func ParseTools(doc []byte) ([]abi.Tool, error) { return module.ParseTools(doc) }

// moduleVersions adapts the module registry to flow.Versions.
type moduleVersions struct{ h *Host }

var _ flow.Versions = moduleVersions{}

// Use implements flow.Versions.
func (v moduleVersions) Use() flow.Version { return v.h.modules.Use() }

// Distrusted implements flow.Versions.
func (v moduleVersions) Distrusted(digest string) string { return v.h.modules.Distrusted(digest) }

// UseFor implements flow.Versions.
func (v moduleVersions) UseFor(ctx context.Context, f *store.Flow) (flow.Version, error) {
	version, err := v.h.modules.UseFor(ctx, f)
	if err != nil {
		return nil, err // a nil *module.Version would be a non-nil flow.Version
	}
	return version, nil
}
