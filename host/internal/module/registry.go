// Package module manages the versions of the plugin: which version is active, which
// other versions are still needed, and how a running gateway swaps versions.
//
// The active version serves every new call and resumes every flow whose state it can
// read (describe.resumes). A flow whose state it cannot read is pinned to a version
// that can. That version stays loaded, and a restart loads it again, until no such flow
// is left. So the code of a flow may change between two steps, but never during a step:
// the registry closes a version that is no longer needed after its last step.
//
// While the gateway runs, only Registry.Swap and rollbacks activate versions. A swap
// takes effect by one write to the store and one change of a pointer; a failure before
// that changes nothing.
//
// After a swap the new version is on trial. If too many of its first steps fail by its
// own fault, the registry rolls back to the previous version.
package module

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/parley-wasm/parley/host/internal/engine"
	"github.com/parley-wasm/parley/host/store"
)

// Options configure a Registry. Engine, Policy, Logger and Now are required.
type Options struct {
	Engine *engine.Engine
	// Store holds modules and the history of activations. nil: the host has no flows,
	// and Open always activates the given module.
	Store store.Durable
	// Policy returns the current policy. The registry calls it for each decision.
	Policy func() *Policy
	// BuiltIn is the module that came with the program. It needs no signature, and Swap
	// can activate it by its digest even if the store does not have it; nil: none.
	BuiltIn []byte
	// Allows reports whether the operator allows plugins to use an operation of host
	// functions; nil: all operations are allowed.
	Allows func(capability string) bool
	// Verify tests a version before it becomes active. The registry does not call
	// Verify for a built-in version, or for the version that was active when the store
	// was last used; nil: no verification.
	Verify func(context.Context, *Version, *File) (*Verified, error)
	// Changed is called after each swap and rollback, with the version that is active
	// now; nil: not called.
	Changed func(now *Version, rolledBack bool)
	// Park parks the waiting flows whose state this module wrote, and calls inTx in the
	// same transaction. It returns the number of parked flows. Required with a Store.
	Park   func(ctx context.Context, digest, reason string, inTx func(store.Tx) error) (int, error)
	Logger *slog.Logger
	Now    func() time.Time
}

// Registry holds the versions of one plugin. It is safe for concurrent use. The caller
// of Open must call Close.
type Registry struct {
	options    Options
	builtIn    string     // digest of Options.BuiltIn, or ""
	swapMu     sync.Mutex // held during a whole swap; locked before versionsMu
	versionsMu sync.Mutex // held while the set of loaded versions changes; locked before mu

	mu     sync.Mutex
	active *Version
	next   chan struct{}       // closed when another version becomes active
	loaded map[string]*Version // by digest, the active one included
	trial  *trial              // of the active version; nil: completed, or no trials
	closed bool
	// distrusted maps the digest of each version that was rolled back to the reason.
	distrusted map[string]string

	background sync.WaitGroup     // running rollbacks
	ctx        context.Context    // canceled by Close
	cancel     context.CancelFunc // cancels ctx
}

func newRegistry(o *Options) *Registry {
	r := &Registry{options: *o, loaded: map[string]*Version{}, next: make(chan struct{}), distrusted: map[string]string{}}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	if len(o.BuiltIn) > 0 {
		r.builtIn = Digest(o.BuiltIn)
	}
	return r
}

// Distrusted returns why a version was rolled back. It returns "" if the version was
// not rolled back, or if a swap has activated it again.
func (r *Registry) Distrusted(digest string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.distrusted[digest]
}

// Use returns the version that serves new calls. The caller must call Release.
func (r *Registry) Use() *Version {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.active.uses++
	return r.active
}

// UseFor returns the version that resumes a flow. It loads the version if necessary,
// because another process may have swapped versions on the same store. The caller must
// call Release.
func (r *Registry) UseFor(ctx context.Context, f *store.Flow) (*Version, error) {
	s := store.StateCount{Module: f.Module, Plugin: f.Plugin, StateVersion: f.StateVersion}
	if v := r.useFor(s); v != nil {
		return v, nil
	}
	r.versionsMu.Lock()
	defer r.versionsMu.Unlock()
	if v := r.useFor(s); v != nil {
		return v, nil
	}
	err := r.loadReader(ctx, s)
	if v := r.useFor(s); v != nil {
		return v, nil
	}
	return nil, fmt.Errorf("module: no version can resume state version %d of %s: swap to a version that can: %w", s.StateVersion, s.Plugin, err)
}

func (r *Registry) useFor(s store.StateCount) *Version {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := r.versionFor(s)
	if v != nil {
		v.uses++
	}
	return v
}

// Active returns the version that serves new calls. The caller must not run it, because
// it may be closed at any time.
func (r *Registry) Active() *Version {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.active
}

// retain keeps a version loaded until Tidy finds that it is no longer needed. The
// caller must hold mu, or have exclusive access to the registry.
func (r *Registry) retain(v *Version) { r.loaded[v.digest], v.retained = v, true }

// activate makes a version active. The caller must hold mu, or have exclusive access to
// the registry.
func (r *Registry) activate(v *Version) {
	r.retain(v)
	r.active = v
	close(r.next)
	r.next = make(chan struct{})
}

// Await blocks until the active version's digest differs from digest, and returns that
// version. If ctx ends first, Await returns ctx's error.
func (r *Registry) Await(ctx context.Context, digest string) (*Version, error) {
	for {
		r.mu.Lock()
		v, next := r.active, r.next
		r.mu.Unlock()
		if v.digest != digest {
			return v, nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Loaded returns the loaded versions, the active one first.
func (r *Registry) Loaded() []*Version {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := slices.SortedFunc(maps.Values(r.loaded), func(a, b *Version) int {
		switch {
		case a == r.active:
			return -1
		case b == r.active:
			return 1
		}
		return slices.Compare([]byte(a.digest), []byte(b.digest))
	})
	return all
}

// Tidy closes the versions that are no longer needed, and deletes from the store the
// modules that are neither needed nor among the latest activations.
func (r *Registry) Tidy(ctx context.Context) error {
	r.versionsMu.Lock()
	defer r.versionsMu.Unlock()
	return r.tidy(ctx)
}

func (r *Registry) tidy(ctx context.Context) error {
	states, err := r.states(ctx)
	if err != nil {
		return err
	}
	r.mu.Lock()
	needed := map[*Version]bool{r.active: true}
	for t := r.trial; t != nil; t = t.suspended {
		needed[t.previous] = true
	}
	for _, s := range states {
		if v := r.versionFor(s); v != nil {
			needed[v] = true
		}
	}
	var idle []*Version
	for digest, v := range r.loaded {
		if needed[v] {
			continue
		}
		delete(r.loaded, digest)
		if v.retained = false; v.uses == 0 {
			idle = append(idle, v)
		}
	}
	r.mu.Unlock()
	for _, v := range idle {
		r.close(v)
	}
	return r.deleteUnneeded(ctx, states)
}

// states counts the flows that have not ended, by the module and the state version of
// their state.
func (r *Registry) states(ctx context.Context) ([]store.StateCount, error) {
	if r.options.Store == nil {
		return nil, nil
	}
	return query(ctx, r.options.Store, store.View.StateCounts)
}

// query calls ask with a view of the store, and closes the view.
func query[T any](ctx context.Context, db store.Durable, ask func(store.View, context.Context) (T, error)) (result T, err error) {
	view, err := db.View(ctx)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	return ask(view, ctx)
}

// close closes a version that is not in use.
func (r *Registry) close(v *Version) {
	if err := v.plugin.Close(context.Background()); err != nil {
		r.options.Logger.Error("module: cannot close a version", "version", v.String(), "error", err)
	}
}

// Wait blocks until all running rollbacks have completed.
func (r *Registry) Wait() { r.background.Wait() }

// Close cancels a running swap, waits for rollbacks, and closes every version when its
// running calls have ended.
func (r *Registry) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.cancel()
	r.swapMu.Lock()
	defer r.swapMu.Unlock()
	r.Wait()
	r.versionsMu.Lock()
	defer r.versionsMu.Unlock()
	var err error
	for _, v := range r.Loaded() {
		err = errors.Join(err, v.plugin.Close(ctx))
	}
	return err
}
