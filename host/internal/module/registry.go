// Package module keeps the versions of the plugin: which one serves, which others
// are still needed, and how one takes over from another while the gateway runs.
//
// One version is active: it serves every new call, and goes on with every flow
// whose state it can read (describe.resumes). A flow whose state it cannot read
// stays with a version that can, which is kept loaded, and loaded again at start,
// until there are no such flows any more. So between two steps of a flow the code
// may change, and in a step never: a version that nothing needs is closed with its
// last step.
//
// There is one way to become active (Registry.Swap), whoever asks for it. Its last
// act is one write to the store and the change of a pointer; whatever fails before
// leaves everything as it was.
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

// Options say how a Registry works. Engine, Logger and Now are required.
type Options struct {
	Engine *engine.Engine
	// Store keeps modules and their history. Without one there are no flows either,
	// and a restart begins with what Open is given.
	Store store.Durable
	// Policy returns what is in force for the next swap.
	Policy func() *Policy
	// BuiltIn is the module that came with the program. It is trusted like that, and
	// can be swapped to by its digest though the store has never had it; nil: none.
	BuiltIn []byte
	// Allows says whether plugins may use an operation of host functions that they
	// ask for; nil: always.
	Allows func(capability string) bool
	// Verify tries a version before it serves, unless it is built in or was active when
	// the store was last used; nil: none is tried.
	Verify func(context.Context, *Version, *Candidate) (*Verified, error)
	// Changed is called after each swap and rollback, with the version that is active
	// now.
	Changed func(now *Version, rolledBack bool)
	// Park parks the flows that wait with a state which this module wrote, in one
	// transaction with what also does, and returns how many. Required with a Store.
	Park   func(ctx context.Context, digest, reason string, also func(store.Tx) error) (int, error)
	Logger *slog.Logger
	Now    func() time.Time
}

// Registry is the versions of one plugin. It is safe for concurrent use.
type Registry struct {
	options    Options
	builtIn    string     // digest of Options.BuiltIn, or ""
	installing sync.Mutex // held by a swap, from its beginning; always before swapping
	swapping   sync.Mutex // held by what changes which versions there are

	mu     sync.Mutex
	active *Version
	next   chan struct{}       // closed when another version is active
	loaded map[string]*Version // by digest, the active one included
	trial  *trial              // of the active version; nil: it is over
	closed bool
	// distrusted are the versions that were rolled back, by digest, with the reason.
	distrusted map[string]string

	background sync.WaitGroup     // rollbacks
	ctx        context.Context    // ends with Close
	cancel     context.CancelFunc // ends life
}

func newRegistry(o *Options) *Registry {
	r := &Registry{options: *o, loaded: map[string]*Version{}, next: make(chan struct{}), distrusted: map[string]string{}}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	if len(o.BuiltIn) > 0 {
		r.builtIn = Digest(o.BuiltIn)
	}
	return r
}

// Distrusted returns why a version was rolled back, or "" if it was not, or if it was
// swapped to again.
func (r *Registry) Distrusted(digest string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.distrusted[digest]
}

// Use returns the version that serves new calls.
func (r *Registry) Use() *Version {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.active.uses++
	return r.active
}

// UseFor returns the version that goes on with a flow. One that is not loaded yet
// is, for other processes may swap on the same store.
func (r *Registry) UseFor(ctx context.Context, f *store.Flow) (*Version, error) {
	s := store.States{Module: f.Module, Plugin: f.Plugin, StateVersion: f.StateVersion}
	if v := r.useFor(s); v != nil {
		return v, nil
	}
	r.swapping.Lock()
	defer r.swapping.Unlock()
	if v := r.useFor(s); v != nil {
		return v, nil
	}
	err := r.loadReader(ctx, s)
	if v := r.useFor(s); v != nil {
		return v, nil
	}
	return nil, fmt.Errorf("module: nothing can go on with state version %d of %s: swap to a version that can: %w", s.StateVersion, s.Plugin, err)
}

func (r *Registry) useFor(s store.States) *Version {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := r.versionFor(s)
	if v != nil {
		v.uses++
	}
	return v
}

// Active returns the version that serves new calls, to be looked at.
func (r *Registry) Active() *Version {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.active
}

// keep makes a version stay until Tidy. The caller holds mu, or has the registry
// alone.
func (r *Registry) retain(v *Version) { r.loaded[v.digest], v.retained = v, true }

// activate makes a version the active one. The caller holds mu, unless nobody else
// has the registry yet.
func (r *Registry) activate(v *Version) {
	r.retain(v)
	r.active = v
	close(r.next)
	r.next = make(chan struct{})
}

// Await returns the active version when it is another one than that with this
// digest, at once if it is. It fails with ctx's error.
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

// Loaded returns the versions that are loaded, the active one first.
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

// Tidy closes the versions that nothing needs any more, and removes from the store
// the modules that are neither needed nor among the last that were active.
func (r *Registry) Tidy(ctx context.Context) error {
	r.swapping.Lock()
	defer r.swapping.Unlock()
	return r.tidy(ctx)
}

func (r *Registry) tidy(ctx context.Context) error {
	states, err := r.states(ctx)
	if err != nil {
		return err
	}
	r.mu.Lock()
	needed := map[*Version]bool{r.active: true}
	for t := r.trial; t != nil; t = t.enclosing {
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

// states tells what wrote the states of the flows that have not ended.
func (r *Registry) states(ctx context.Context) ([]store.States, error) {
	if r.options.Store == nil {
		return nil, nil
	}
	return query(ctx, r.options.Store, store.View.States)
}

func query[T any](ctx context.Context, db store.Durable, ask func(store.View, context.Context) (T, error)) (answer T, err error) {
	view, err := db.View(ctx)
	if err != nil {
		return answer, err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	return ask(view, ctx)
}

// close releases a version that nobody uses.
func (r *Registry) close(v *Version) {
	if err := v.plugin.Close(context.Background()); err != nil {
		r.options.Logger.Error("module: close a version", "version", v.String(), "error", err)
	}
}

// Wait waits for rollbacks under way.
func (r *Registry) Wait() { r.background.Wait() }

// Close ends a swap under way, waits for rollbacks, and closes every version when its
// last use ends.
func (r *Registry) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.cancel()
	r.installing.Lock()
	defer r.installing.Unlock()
	r.Wait()
	r.swapping.Lock()
	defer r.swapping.Unlock()
	var err error
	for _, v := range r.Loaded() {
		err = errors.Join(err, v.plugin.Close(ctx))
	}
	return err
}
