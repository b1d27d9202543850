package module

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

// Open returns a registry. The active version is the one that was active when the store
// was last used; the versions that flows still need are loaded too. file becomes active
// instead if
//
//   - the store has no active version, or that version cannot be loaded;
//   - file.Origin is not store.OriginBuiltIn, because then the operator asked for the
//     file; or
//   - file and the active version are both built in, and the store does not have file:
//     then the program was updated.
//
// The last two rules do not apply if the latest activation in the store is the rollback
// of file.
func Open(ctx context.Context, o *Options, file *File) (*Registry, error) {
	r := newRegistry(o)
	last, err := r.history(ctx)
	if err != nil {
		return nil, err
	}
	given := &source{*file, file.Origin == store.OriginBuiltIn}
	digest := Digest(given.Wasm)
	if last == nil || last.Digest == digest {
		return r, r.startWith(ctx, given, last == nil, "")
	}
	if err := r.activateStored(ctx, last.Digest); err != nil {
		// A gateway must start even if the stored version is unusable.
		r.options.Logger.Error("module: cannot load the last active version; activating the given one",
			"digest", last.Digest, "origin", last.Origin, "error", err)
		return r, r.startWith(ctx, given, true, fmt.Sprintf("%.12s could not be loaded: %v", last.Digest, err))
	}
	if err := r.loadPinned(ctx); err != nil {
		return nil, errors.Join(err, r.Close(ctx))
	}
	switch {
	case given.builtIn && (!last.builtIn || slices.Contains(last.known, digest)):
		return r, nil
	case digest == last.rolledBack:
		r.options.Logger.Error("module: the given version was rolled back and is not activated automatically; swap to it to try it again",
			"digest", digest, "origin", given.Origin, "reason", last.Reason)
		return r, nil
	}
	if _, err := r.swap(ctx, given); err != nil {
		return nil, errors.Join(err, r.Close(ctx))
	}
	return r, nil
}

// activationHistory describes the latest activation and the stored modules.
type activationHistory struct {
	*store.Activation          // the latest activation
	builtIn           bool     // the active version was the built-in module of the program
	rolledBack        string   // digest of the version that was rolled back, if the latest activation is a rollback
	known             []string // digests of the stored modules
}

// historyLimit is the number of activations among which history looks for the origin of
// the active version.
const historyLimit = 100

// history reads the activations and modules from the store. It returns nil if there are
// no activations.
func (r *Registry) history(ctx context.Context) (*activationHistory, error) {
	if r.options.Store == nil {
		return nil, nil
	}
	newest, err := query(ctx, r.options.Store, func(v store.View, ctx context.Context) ([]*store.Activation, error) {
		return v.Activations(ctx, historyLimit)
	})
	if err != nil || len(newest) == 0 {
		return nil, err
	}
	p := &activationHistory{Activation: newest[0]}
	if p.Origin == store.OriginRollback && len(newest) > 1 {
		p.rolledBack = newest[1].Digest
	}
	for _, a := range newest {
		if a.Digest == p.Digest && a.Origin != store.OriginRollback {
			p.builtIn = a.Origin == store.OriginBuiltIn
			break
		}
	}
	all, err := query(ctx, r.options.Store, store.View.Modules)
	for _, m := range all {
		p.known = append(p.known, m.Digest)
	}
	return p, err
}

// startWith makes the given module the first active version. If record is set,
// startWith verifies the module and adds the activation to the history, with the reason
// for which the stored version was not activated.
func (r *Registry) startWith(ctx context.Context, given *source, record bool, reason string) error {
	given, signer, err := r.admit(ctx, given)
	if err != nil {
		return err
	}
	digest := given.Digest
	v, err := r.load(ctx, digest, given.Wasm, signer)
	if err != nil {
		return err
	}
	defer v.Release()
	if record {
		if _, err := r.verify(ctx, v, given); err != nil {
			return err
		}
		err = r.recordActivation(ctx, v, given.Wasm, &store.Activation{Digest: digest, At: r.options.Now().UnixMilli(), Origin: given.Origin, Reason: reason})
		if err != nil {
			return err
		}
	}
	r.activate(v)
	return r.loadPinned(ctx)
}

// activateStored loads a version from the store and makes it active.
func (r *Registry) activateStored(ctx context.Context, digest string) error {
	v, err := r.loadStored(ctx, digest)
	if err != nil {
		return err
	}
	defer v.Release()
	r.activate(v)
	return nil
}

// storedModule returns a module from the store.
func (r *Registry) storedModule(ctx context.Context, digest string) (*store.Module, error) {
	if r.options.Store == nil {
		return nil, abi.NewError(abi.NotFound, "module: the host has no store of modules; pass the module file")
	}
	m, err := query(ctx, r.options.Store, func(v store.View, ctx context.Context) (*store.Module, error) { return v.Module(ctx, digest) })
	switch {
	case err != nil:
		return nil, err
	case m == nil:
		return nil, abi.NewError(abi.NotFound, fmt.Sprintf("module: the store has no module with the digest %s", digest))
	case Digest(m.Wasm) != digest:
		return nil, abi.NewError(abi.Internal, fmt.Sprintf("module: the stored module with the digest %s is corrupt", digest))
	}
	return m, nil
}

// loadStored loads a version from the store.
func (r *Registry) loadStored(ctx context.Context, digest string) (*Version, error) {
	m, err := r.storedModule(ctx, digest)
	if err != nil {
		return nil, err
	}
	if err := r.options.Policy().admitStored(m); err != nil {
		return nil, err
	}
	return r.load(ctx, digest, m.Wasm, m.Signer)
}

// loadPinned loads versions for the flows that the active version cannot resume.
func (r *Registry) loadPinned(ctx context.Context) error {
	states, err := r.states(ctx)
	if err != nil {
		return err
	}
	for _, s := range states {
		r.mu.Lock()
		found := r.versionFor(s) != nil
		r.mu.Unlock()
		if found {
			continue
		}
		if err := r.loadReader(ctx, s); err != nil {
			r.options.Logger.Error("module: no version can resume some flows", "flows", s.Flows, "plugin", s.Plugin,
				"stateVersion", s.StateVersion, "digest", s.Module, "error", err)
		}
	}
	return nil
}

// loadReader loads and retains a version that can resume a state: the version that
// wrote the state, or else the newest stored one.
func (r *Registry) loadReader(ctx context.Context, s store.StateCount) error {
	all, err := query(ctx, r.options.Store, store.View.Modules)
	if err != nil {
		return err
	}
	slices.SortStableFunc(all, func(a, b *store.Module) int { return boolOrder(b.Digest == s.Module) - boolOrder(a.Digest == s.Module) })
	errs := abi.NewError(abi.NotFound, "module: the store has no module that can read their state")
	for _, m := range all {
		about, err := ParseDescription(m.Description)
		if err != nil || !(&Version{About: about}).reads(s.Plugin, s.StateVersion) {
			continue
		}
		v, err := r.loadStored(ctx, m.Digest)
		if err == nil {
			r.mu.Lock()
			r.retain(v)
			r.mu.Unlock()
			v.Release()
			return nil
		}
		errs = abi.NewError(abi.Unsupported, err.Error())
	}
	return errs
}

func boolOrder(b bool) int {
	if b {
		return 1
	}
	return 0
}

// recordActivation stores an activation, and the module if it is new.
func (r *Registry) recordActivation(ctx context.Context, v *Version, wasm []byte, a *store.Activation) error {
	if r.options.Store == nil {
		return nil
	}
	m := r.row(v, wasm)
	return r.options.Store.Update(ctx, func(tx store.Tx) error {
		return errors.Join(tx.PutModule(m), tx.PutActivation(a))
	})
}

// row returns the stored form of a module.
func (r *Registry) row(v *Version, wasm []byte) *store.Module {
	return &store.Module{
		Digest: v.digest, Name: v.About.Name, Version: v.About.Version, Description: v.plugin.Describe(),
		Signer: v.Signer(), AddedAt: r.options.Now().UnixMilli(), Size: len(wasm), Wasm: wasm,
	}
}

// keepModules is the number of latest activations whose modules stay in the store, so
// that the operator can swap back to them.
const keepModules = 10

// deleteUnneeded deletes modules from the store that no flow, loaded version or recent
// activation needs.
func (r *Registry) deleteUnneeded(ctx context.Context, states []store.StateCount) error {
	if r.options.Store == nil {
		return nil
	}
	all, err := query(ctx, r.options.Store, store.View.Modules)
	if err != nil {
		return err
	}
	keep := map[string]bool{}
	for _, s := range states {
		keep[s.Module] = true
	}
	for _, v := range r.Loaded() {
		keep[v.digest] = true
	}
	newest, err := query(ctx, r.options.Store, func(v store.View, ctx context.Context) ([]*store.Activation, error) {
		return v.Activations(ctx, keepModules)
	})
	if err != nil {
		return err
	}
	for _, a := range newest {
		keep[a.Digest] = true
	}
	all = slices.DeleteFunc(all, func(m *store.Module) bool { return keep[m.Digest] })
	if len(all) == 0 {
		return nil
	}
	return r.options.Store.Update(ctx, func(tx store.Tx) (err error) {
		for _, m := range all {
			err = errors.Join(err, tx.DeleteModule(m.Digest))
		}
		return err
	})
}
