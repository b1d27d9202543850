package host

import (
	"context"
	"errors"
	"slices"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/engine"
	"github.com/parley-wasm/parley/host/internal/module"
	"github.com/parley-wasm/parley/host/store"
)

// Plugin is a version of the plugin.
type Plugin struct {
	Digest       string   `json:"digest"` // SHA-256 of the module, hexadecimal
	Name         string   `json:"name"`
	Version      string   `json:"version"`
	Status       string   `json:"status"`           // one of the Plugin constants
	Signer       string   `json:"signer,omitempty"` // name of the key and the beginning of its SHA-256, or "built in"
	StateVersion int      `json:"stateVersion"`     // that it writes
	Resumes      [2]int   `json:"resumes"`          // oldest and newest that it reads
	Tools        []string `json:"tools"`
	Withheld     []string `json:"withheld,omitempty"` // operations that it asks for and plugins.allow leaves out
	Size         int      `json:"size,omitempty"`     // bytes
	AddedAt      int64    `json:"addedAt,omitempty"`  // milliseconds
	Flows        int      `json:"flows"`              // that have not ended and whose states it wrote
}

// Status of a version of the plugin.
const (
	PluginActive = "active" // it serves new calls
	PluginLoaded = "loaded" // it goes on with flows, or may take over again
	PluginStored = "stored" // it can be gone back to
)

// Plugins are the versions of the plugin, the active one first, then those that are
// loaded, then the newest; and which served when, newest first.
type Plugins struct {
	Versions []*Plugin           `json:"versions"`
	History  []*store.Activation `json:"history"`
}

// maxHistory bounds Plugins.History.
const maxHistory = 100

// Swapped is what a swap did.
type Swapped struct {
	Before string  `json:"before"` // digest
	Active *Plugin `json:"active"`
	Same   bool    `json:"same"`   // it was active already, and nothing was done
	Pinned int     `json:"pinned"` // flows that stay with other versions
	// Verified is what was tried before; nil: nothing was to be (plugins.verify, or it
	// is active already).
	Verified *Verified `json:"verified,omitempty"`
}

// Swap makes a module the active version of the plugin, while calls are served, and
// keeps it so for the next start (module.Registry.Swap). On an error, an
// *abi.Error, the version that served goes on.
func (h *Host) Swap(ctx context.Context, c *Candidate) (*Swapped, error) {
	change, err := h.modules.Swap(ctx, c)
	if err != nil {
		return nil, refusal(ctx, err)
	}
	return &Swapped{
		Before: change.Before.Digest(), Active: h.about(change.After, PluginActive), Same: change.Same, Pinned: change.Pinned, Verified: change.Verified,
	}, nil
}

// refusal is why a module cannot serve, as an *abi.Error with all that is known: who
// swaps may read it.
func refusal(ctx context.Context, err error) error {
	var e *abi.Error
	if ctx.Err() != nil || errors.As(err, &e) {
		return err
	}
	if errors.Is(err, abi.Unsupported) {
		return &abi.Error{Code: abi.Unsupported, Message: err.Error(), Cause: err}
	}
	// What it does when it is loaded is what it is.
	if _, ok := errors.AsType[*engine.Error](err); ok {
		return &abi.Error{Code: abi.InvalidArgs, Message: err.Error(), Cause: err}
	}
	return err
}

// ActivePlugin returns the active version of the plugin.
func (h *Host) ActivePlugin() *Plugin { return h.about(h.modules.Active(), PluginActive) }

// AwaitPlugin returns the active version of the plugin when it is another one than
// that with this digest, at once if it is.
func (h *Host) AwaitPlugin(ctx context.Context, digest string) (*Plugin, error) {
	v, err := h.modules.Await(ctx, digest)
	if err != nil {
		return nil, err
	}
	return h.about(v, PluginActive), nil
}

// Plugins lists the versions of the plugin.
func (h *Host) Plugins(ctx context.Context) (*Plugins, error) {
	p := &Plugins{History: []*store.Activation{}}
	find := func(digest string) *Plugin {
		if i := slices.IndexFunc(p.Versions, func(v *Plugin) bool { return v.Digest == digest }); i >= 0 {
			return p.Versions[i]
		}
		return nil
	}
	for _, v := range h.modules.Loaded() {
		p.Versions = append(p.Versions, h.about(v, PluginLoaded))
	}
	p.Versions[0].Status = PluginActive
	if h.services == nil {
		return p, nil
	}
	_, err := readView(ctx, h, func(v store.View) (any, error) {
		all, err := v.Modules(ctx)
		if err != nil {
			return nil, err
		}
		for _, m := range all {
			at := find(m.Digest)
			if at == nil {
				at = h.stored(m)
				p.Versions = append(p.Versions, at)
			}
			at.Size, at.AddedAt = m.Size, m.AddedAt
		}
		states, err := v.States(ctx)
		for _, s := range states {
			if at := find(s.Module); at != nil {
				at.Flows += s.Flows
			}
		}
		if err == nil {
			p.History, err = v.Activations(ctx, maxHistory)
		}
		return nil, err
	})
	return p, err
}

func (h *Host) about(v *module.Version, status string) *Plugin {
	return h.describe(v.About, v.Digest(), v.Signer(), status)
}

func (h *Host) stored(m *store.Module) *Plugin {
	d, err := module.ParseDescription(m.Description)
	if err != nil {
		d = &abi.Description{Name: m.Name, Version: m.Version} // of a host that took other descriptions
	}
	return h.describe(d, m.Digest, m.Signer, PluginStored)
}

func (h *Host) describe(d *abi.Description, digest, signer, status string) *Plugin {
	p := &Plugin{
		Digest: digest, Name: d.Name, Version: d.Version, Status: status, Signer: signer,
		StateVersion: d.StateVersion, Resumes: d.Resumes, Tools: []string{},
		Withheld: slices.DeleteFunc(slices.Clone(d.Capabilities), h.allows),
	}
	for i := range d.Tools {
		p.Tools = append(p.Tools, d.Tools[i].Name)
	}
	return p
}
