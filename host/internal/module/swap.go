package module

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

// Candidate is a module that is to be active.
type Candidate struct {
	// Wasm is the module; empty: the one that the store has under Digest, or that came
	// with the program.
	Wasm []byte
	// Origin says where it came from, for the history.
	Origin string
	// Digest is what the module must be, as hexadecimal SHA-256; empty: anything.
	Digest string
	// Signature is an ed25519 signature of the module's bytes; empty: none.
	Signature []byte
	// Force swaps although flows would be left that no version can go on with, or
	// nothing could be verified.
	Force bool
}

// Verified is what of a version was tried before it served.
type Verified struct {
	Level   string `json:"level"`
	Passed  int    `json:"passed"`  // vectors
	Skipped int    `json:"skipped"` // vectors, for tools that it does not describe
}

// candidate is a Candidate, and whether it came with the program.
type source struct {
	Candidate
	builtIn bool
}

// Change is what a swap did.
type Change struct {
	Before, After *Version
	// Same says that the module was active already, and nothing was done.
	Same bool
	// Verified is nil if nothing was to be tried.
	Verified *Verified
	// Pinned is how many flows stay with other versions than the active one.
	Pinned int
}

// Swap makes a module the active version. New calls are served by it when Swap
// returns; steps under way end where they began. On any error the version that
// served before goes on. Errors are an *abi.Error or match one.
func (r *Registry) Swap(ctx context.Context, c *Candidate) (*Change, error) {
	if c.Origin == store.OriginBuiltIn || c.Origin == store.OriginRollback {
		return nil, abi.NewError(abi.InvalidArgs, fmt.Sprintf("module: nothing can be swapped to that says it comes from %q", c.Origin))
	}
	return r.swap(ctx, &source{Candidate: *c})
}

func (r *Registry) swap(ctx context.Context, c *source) (*Change, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.ctx, cancel)()
	r.installing.Lock()
	defer r.installing.Unlock()
	if r.ctx.Err() != nil {
		return nil, abi.NewError(abi.Conflict, "module: the gateway is closing; swap again when it is back")
	}
	c, signer, err := r.admit(ctx, c)
	if err != nil {
		return nil, err
	}
	v, err := r.load(ctx, c.Digest, c.Wasm, signer)
	if err != nil {
		return nil, err
	}
	defer v.Release()
	if active := r.Active(); v == active {
		return &Change{Before: active, After: active, Same: true}, r.saveSignature(ctx, v, c)
	}
	// What takes its time is done while everything else goes on.
	verified, err := r.verify(ctx, v, c)
	if err != nil {
		return nil, err
	}
	change, err := r.commit(ctx, v, c)
	if err != nil {
		return nil, err
	}
	change.Verified = verified
	r.options.Logger.Info("module: swapped", "from", change.Before.String(), "to", v.String(), "origin", c.Origin, "pinned", change.Pinned)
	r.notifyChanged(v, false)
	if err := r.Tidy(ctx); err != nil {
		r.options.Logger.Warn("module: tidy up after a swap", "error", err)
	}
	// Compiling and trying leave tens of MiB behind at once, and may not come again for
	// months.
	debug.FreeOSMemory()
	return change, nil
}

// sign keeps the signature of a version that is active already.
func (r *Registry) saveSignature(ctx context.Context, v *Version, c *source) error {
	if r.options.Store == nil || len(c.Signature) == 0 {
		return nil
	}
	return r.options.Store.Update(ctx, func(tx store.Tx) error { return tx.PutModule(r.row(v, c.Wasm)) })
}

// Digest returns a module's digest.
func Digest(wasm []byte) string {
	sum := sha256.Sum256(wasm)
	return hex.EncodeToString(sum[:])
}

// admit returns the candidate with its bytes and digest, if it may serve, and the
// key that signed it.
func (r *Registry) admit(ctx context.Context, c *source) (_ *source, signer string, err error) {
	full := *c
	want := strings.ToLower(strings.TrimPrefix(c.Digest, "sha256:"))
	switch {
	case len(c.Wasm) > 0 || want == "":
	case want == r.builtIn:
		// As if it had never been another one: the next program brings its own.
		full.Wasm, full.Origin, full.builtIn = r.options.BuiltIn, store.OriginBuiltIn, true
	default:
		m, err := r.storedModule(ctx, want)
		if err != nil {
			return nil, "", err
		}
		full.Wasm, full.Digest = m.Wasm, m.Digest
		return &full, m.Signer, r.options.Policy().admitStored(m)
	}
	full.Digest = Digest(full.Wasm)
	if want != "" && want != full.Digest {
		return nil, "", abi.NewError(abi.InvalidArgs, fmt.Sprintf("module: the file's digest is sha256:%s, not %s", full.Digest, c.Digest))
	}
	if full.builtIn || full.Digest == r.builtIn {
		return &full, store.OriginBuiltIn, nil // it is trusted like the program that it came with
	}
	signer, err = r.options.Policy().admit(c.Wasm, c.Signature)
	return &full, signer, err
}

// load returns a version in use: one that is loaded already, or a new one, which
// nobody keeps yet. A signature counts for both.
func (r *Registry) load(ctx context.Context, digest string, wasm []byte, signer string) (*Version, error) {
	if v := r.useLoaded(digest, signer); v != nil {
		return v, nil
	}
	plugin, err := r.options.Engine.Load(ctx, wasm)
	if err != nil {
		return nil, err
	}
	about, err := ParseDescription(plugin.Describe())
	if err != nil {
		return nil, errors.Join(err, plugin.Close(context.WithoutCancel(ctx)))
	}
	return &Version{digest: digest, signer: signer, About: about, registry: r, plugin: plugin, uses: 1}, nil
}

func (r *Registry) useLoaded(digest, signer string) *Version {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := r.loaded[digest]
	if v != nil {
		v.uses++
		if signer != "" {
			v.signer = signer
		}
	}
	return v
}

// try tries a version before it serves. What is built in was tested with the
// program.
func (r *Registry) verify(ctx context.Context, v *Version, c *source) (*Verified, error) {
	if r.options.Verify == nil || c.builtIn {
		return nil, nil
	}
	return r.options.Verify(ctx, v, &c.Candidate)
}

// take makes the version the active one.
func (r *Registry) commit(ctx context.Context, v *Version, c *source) (*Change, error) {
	r.swapping.Lock()
	defer r.swapping.Unlock()
	states, err := r.states(ctx)
	if err != nil {
		return nil, err
	}
	pinned, err := r.countPinned(v, states)
	if err != nil && !c.Force {
		return nil, err
	}
	now := r.options.Now().UnixMilli()
	if err := r.recordActivation(ctx, v, c.Wasm, &store.Activation{Digest: v.digest, At: now, Origin: c.Origin}); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.active
	r.trial = newTrial(r.options.Policy(), before, r.trial)
	delete(r.distrusted, v.digest)
	r.activate(v)
	return &Change{Before: before, After: v, Pinned: pinned}, nil
}

// strands returns how many flows would stay with other versions if v were active,
// and fails if there would be some that no version could go on with, though one can
// now.
func (r *Registry) countPinned(v *Version, states []store.States) (pinned int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	holders := map[*Version]bool{}
	for _, s := range states {
		if v.reads(s.Plugin, s.StateVersion) {
			continue
		}
		if holder := r.versionFor(s); holder != nil {
			holders[holder] = true
			pinned += s.Flows
		}
	}
	if most := r.options.Policy().MaxPinned; len(holders) > most {
		return pinned, abi.NewError(abi.Conflict, fmt.Sprintf("module: %d flows that %s cannot go on with need %d other versions, and at most %d are kept: "+
			"wait until some of these flows have ended, end them with parley flows drop, or force the swap", pinned, v, len(holders), most))
	}
	return pinned, nil
}

func (r *Registry) notifyChanged(now *Version, rolledBack bool) {
	if r.options.Changed != nil {
		r.options.Changed(now, rolledBack)
	}
}
