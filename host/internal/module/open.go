package module

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

// Open returns a registry with the version that was active when the store was last
// used, and those that flows still need. c becomes active if there was none;
// if its origin is not store.OriginBuiltIn, for then somebody asked for it; and if
// it is built in as the one before was and has never been active, for then the
// program is another one.
func Open(ctx context.Context, o *Options, c *Candidate) (*Registry, error) {
	r := newRegistry(o)
	last, err := r.history(ctx)
	if err != nil {
		return nil, err
	}
	given := &source{*c, c.Origin == store.OriginBuiltIn}
	digest := Digest(given.Wasm)
	if last == nil || last.Digest == digest {
		return r, r.startWith(ctx, given, last == nil, "")
	}
	if err := r.activateStored(ctx, last.Digest); err != nil {
		// Whoever starts the program must know, and gets a gateway that works.
		r.options.Logger.Error("module: the version that was active cannot be loaded, and another one takes over",
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
		r.options.Logger.Error("module: the given version was rolled back when it last served, and does not serve again by itself; swap to it to try it again",
			"digest", digest, "origin", given.Origin, "reason", last.Reason)
		return r, nil
	}
	if _, err := r.swap(ctx, given); err != nil {
		return nil, errors.Join(err, r.Close(ctx))
	}
	return r, nil
}

// past is what the store tells of the time before.
type activationHistory struct {
	*store.Activation          // the last one
	builtIn           bool     // that version came with the program
	rolledBack        string   // the digest that served before, if the last one is a rollback
	known             []string // digests of the modules that are stored
}

// recent is how far back it is looked where a version came from.
const historyLimit = 100

// history returns what the store tells of the time before, or nil.
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

// begin makes the given module the first version. record says that it was not the
// active one before, and reason why it is now, if nobody asked for it.
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

// revive makes a version that is stored the active one.
func (r *Registry) activateStored(ctx context.Context, digest string) error {
	v, err := r.loadStored(ctx, digest)
	if err != nil {
		return err
	}
	defer v.Release()
	r.activate(v)
	return nil
}

// kept returns a module from the store.
func (r *Registry) storedModule(ctx context.Context, digest string) (*store.Module, error) {
	if r.options.Store == nil {
		return nil, abi.NewError(abi.NotFound, "module: there is no store of modules; give the file")
	}
	m, err := query(ctx, r.options.Store, func(v store.View, ctx context.Context) (*store.Module, error) { return v.Module(ctx, digest) })
	switch {
	case err != nil:
		return nil, err
	case m == nil:
		return nil, abi.NewError(abi.NotFound, fmt.Sprintf("module: the store has none with the digest %s", digest))
	case Digest(m.Wasm) != digest:
		return nil, abi.NewError(abi.Internal, fmt.Sprintf("module: what the store has under the digest %s is something else", digest))
	}
	return m, nil
}

// stored loads a version from the store.
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

// pin loads what flows need that the active version cannot go on with.
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
			r.options.Logger.Error("module: no version can go on with some flows", "flows", s.Flows, "plugin", s.Plugin,
				"stateVersion", s.StateVersion, "digest", s.Module, "error", err)
		}
	}
	return nil
}

// reader loads a version that can read a state: the one that wrote it, or else the
// newest.
func (r *Registry) loadReader(ctx context.Context, s store.States) error {
	all, err := query(ctx, r.options.Store, store.View.Modules)
	if err != nil {
		return err
	}
	slices.SortStableFunc(all, func(a, b *store.Module) int { return boolOrder(b.Digest == s.Module) - boolOrder(a.Digest == s.Module) })
	errs := abi.NewError(abi.NotFound, "module: the store has none that can read them")
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

// record keeps that a version is active, and the module if it is new.
func (r *Registry) recordActivation(ctx context.Context, v *Version, wasm []byte, a *store.Activation) error {
	if r.options.Store == nil {
		return nil
	}
	m := r.row(v, wasm)
	return r.options.Store.Update(ctx, func(tx store.Tx) error {
		return errors.Join(tx.PutModule(m), tx.PutActivation(a))
	})
}

// row is the module as it is stored.
func (r *Registry) row(v *Version, wasm []byte) *store.Module {
	return &store.Module{
		Digest: v.digest, Name: v.About.Name, Version: v.About.Version, Description: v.plugin.Describe(),
		Signer: v.Signer(), AddedAt: r.options.Now().UnixMilli(), Size: len(wasm), Wasm: wasm,
	}
}

// keepModules is how many modules stay in the store that nothing needs, for going
// back to.
const keepModules = 10

// forget removes modules from the store.
func (r *Registry) deleteUnneeded(ctx context.Context, states []store.States) error {
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
