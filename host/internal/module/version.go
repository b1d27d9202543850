package module

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/engine"
	"github.com/parley-wasm/parley/host/store"
)

// Version is a loaded module. The caller of Registry.Use or UseFor must call Release.
type Version struct {
	About *abi.Description

	digest   string
	registry *Registry
	plugin   *engine.Plugin

	// Guarded by Registry.mu.
	signer   string
	uses     int
	retained bool // the version is in Registry.loaded; if not, the last Release closes it
}

// Digest returns the SHA-256 of the module, in hexadecimal.
func (v *Version) Digest() string { return v.digest }

// Signer returns the stored form of the key that signed the module, store.OriginBuiltIn
// for the built-in module, or "" if the module is not signed.
func (v *Version) Signer() string {
	v.registry.mu.Lock()
	defer v.registry.mu.Unlock()
	return v.signer
}

// Name returns the plugin's name and version.
func (v *Version) Name() string { return v.About.Name + " " + v.About.Version }

func (v *Version) String() string { return fmt.Sprintf("%s (%.12s)", v.Name(), v.digest) }

// Needs returns the names of the settings that a tool needs.
func (v *Version) Needs(tool string) []string {
	if t := v.About.Tool(tool); t != nil {
		return t.Needs
	}
	return nil
}

// Grants returns nil if the plugin may use an operation of host functions. Otherwise it
// returns an *abi.Error: the description does not list the operation, or Options.Allows
// denies it.
func (v *Version) Grants(capability string) error {
	switch allows := v.registry.options.Allows; {
	case !slices.Contains(v.About.Capabilities, capability):
		return abi.NewError(abi.Forbidden, capability+": the plugin's description does not list this capability")
	case allows != nil && !allows(capability):
		return abi.NewError(abi.Forbidden, capability+": plugins.allow in the configuration does not list it")
	}
	return nil
}

// reads reports whether the version can resume a state. plugin is the name and version
// of the plugin that wrote the state.
func (v *Version) reads(plugin string, stateVersion int) bool {
	name := plugin[:max(strings.LastIndexByte(plugin, ' '), 0)]
	return name == v.About.Name && v.About.Resumes[0] <= stateVersion && stateVersion <= v.About.Resumes[1]
}

// Run calls an export of the module, and counts the step if the version is on trial.
func (v *Version) Run(ctx context.Context, export string, input []byte, h engine.HostFunctions) ([]byte, error) {
	output, err := v.plugin.Run(ctx, export, input, h)
	v.registry.countStep(v, err)
	return output, err
}

// Release ends a use of the version. The last Release closes a version that is not
// retained.
func (v *Version) Release() {
	r := v.registry
	r.mu.Lock()
	v.uses--
	last := !v.retained && v.uses == 0
	r.mu.Unlock()
	if last {
		r.close(v)
	}
}

// pluginFault reports whether the plugin, not the host or the caller, caused the
// failure of a step.
func pluginFault(err error) bool {
	e, ok := errors.AsType[*engine.Error](err)
	return ok && (e.Kind == engine.Trap || e.Kind == engine.Failed || e.Kind.IsLimit())
}

// versionFor returns the version that must resume a state: the active version if it
// can, else the version that wrote the state, else any loaded version that can, else
// nil. The caller must hold mu.
func (r *Registry) versionFor(s store.StateCount) *Version {
	if r.active.reads(s.Plugin, s.StateVersion) {
		return r.active
	}
	if v := r.loaded[s.Module]; v != nil && v.reads(s.Plugin, s.StateVersion) {
		return v
	}
	for _, v := range r.loaded {
		if v.reads(s.Plugin, s.StateVersion) {
			return v
		}
	}
	return nil
}
