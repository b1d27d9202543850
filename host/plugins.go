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

// Plugin describes an installed version of the plugin.
type Plugin struct {
	Digest       string   `json:"digest"` // SHA-256 of the module, hexadecimal
	Name         string   `json:"name"`
	Version      string   `json:"version"`
	Status       string   `json:"status"`           // one of the Plugin constants
	Signer       string   `json:"signer,omitempty"` // the key's name and the first digits of its SHA-256, or "built in"
	StateVersion int      `json:"stateVersion"`     // state version that the plugin writes
	Resumes      [2]int   `json:"resumes"`          // oldest and newest state version that the plugin reads
	Tools        []string `json:"tools"`
	Denied       []string `json:"withheld,omitempty"` // requested operations that plugins.allow denies
	Size         int      `json:"size,omitempty"`     // bytes
	AddedAt      int64    `json:"addedAt,omitempty"`  // milliseconds
	Flows        int      `json:"flows"`              // flows that have not ended and whose state the plugin wrote
}

// Status values of a plugin version.
const (
	PluginActive = "active" // serves new calls
	PluginLoaded = "loaded" // resumes its flows, or may become active again
	PluginStored = "stored" // stored, available for a swap
)

// Plugins lists the plugin versions (the active one first, then the loaded ones, then
// the others, newest first) and the activation history, newest first.
type Plugins struct {
	Versions []*Plugin           `json:"versions"`
	History  []*store.Activation `json:"history"`
}

// maxHistory bounds Plugins.History.
const maxHistory = 100

// SwapResult is the result of a swap.
type SwapResult struct {
	Before string  `json:"before"` // digest
	Active *Plugin `json:"active"`
	Same   bool    `json:"same"`   // the version was already active; nothing changed
	Pinned int     `json:"pinned"` // flows pinned to other versions
	// Verified is the result of verification; nil: the version was not verified
	// (plugins.verify is off, or the version was already active).
	Verified *Verified `json:"verified,omitempty"`
}

// Swap makes a module the active version of the plugin while calls are served, also
// for later starts (module.Registry.Swap). On an error the previous version stays
// active. If the module cannot serve, the error is an *abi.Error.
func (h *Host) Swap(ctx context.Context, c *PluginFile) (*SwapResult, error) {
	change, err := h.modules.Swap(ctx, c)
	if err != nil {
		return nil, refusal(ctx, err)
	}
	return &SwapResult{
		Before: change.Before.Digest(), Active: h.about(change.After, PluginActive), Same: change.Same, Pinned: change.Pinned, Verified: change.Verified,
	}, nil
}

// refusal converts an error that says why a module cannot serve into an *abi.Error. It
// keeps all details, because the caller of a swap may see them.
func refusal(ctx context.Context, err error) error {
	var e *abi.Error
	if ctx.Err() != nil || errors.As(err, &e) {
		return err
	}
	if errors.Is(err, abi.Unsupported) {
		return &abi.Error{Code: abi.Unsupported, Message: err.Error(), Cause: err}
	}
	// A failure during loading is the module's fault.
	if _, ok := errors.AsType[*engine.Error](err); ok {
		return &abi.Error{Code: abi.InvalidArgs, Message: err.Error(), Cause: err}
	}
	return err
}

// ActivePlugin returns the active version of the plugin.
func (h *Host) ActivePlugin() *Plugin { return h.about(h.modules.Active(), PluginActive) }

// AwaitPlugin waits until the active version has a digest other than the given one,
// and returns it.
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
		states, err := v.StateCounts(ctx)
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
		d = &abi.Description{Name: m.Name, Version: m.Version} // stored by a host that accepted other descriptions
	}
	return h.describe(d, m.Digest, m.Signer, PluginStored)
}

func (h *Host) describe(d *abi.Description, digest, signer, status string) *Plugin {
	p := &Plugin{
		Digest: digest, Name: d.Name, Version: d.Version, Status: status, Signer: signer,
		StateVersion: d.StateVersion, Resumes: d.Resumes, Tools: []string{},
		Denied: slices.DeleteFunc(slices.Clone(d.Capabilities), h.allows),
	}
	for i := range d.Tools {
		p.Tools = append(p.Tools, d.Tools[i].Name)
	}
	return p
}
