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

// File is a module file to activate.
type File struct {
	// Wasm is the module; empty: the built-in or stored module with Digest.
	Wasm []byte
	// Origin is recorded in the history: a path, for example.
	Origin string
	// Digest is the expected SHA-256 of the module, in hexadecimal; empty: any.
	Digest string
	// Signature is an ed25519 signature of the module; empty: none.
	Signature []byte
	// Force swaps even if more than Policy.MaxPinned versions would have to stay
	// loaded, or if nothing could be verified.
	Force bool
}

// Verified is the result of verifying a version.
type Verified struct {
	Level   string `json:"level"`
	Passed  int    `json:"passed"`  // vectors
	Skipped int    `json:"skipped"` // vectors that need tools which the module does not describe
}

// source is a Candidate, and whether it came with the program.
type source struct {
	File
	builtIn bool
}

// Change is the result of a swap.
type Change struct {
	Before, After *Version
	// Same reports that the module was already active, so that nothing changed.
	Same bool
	// Verified is nil without verification.
	Verified *Verified
	// Pinned is the number of flows that stay with versions other than the active one.
	Pinned int
}

// Swap activates a module. It serves new calls when Swap returns; running steps finish
// in the version in which they started. On any error the previous version stays active.
// Errors are an *abi.Error or match one.
func (r *Registry) Swap(ctx context.Context, c *File) (*Change, error) {
	if c.Origin == store.OriginBuiltIn || c.Origin == store.OriginRollback {
		return nil, abi.NewError(abi.InvalidArgs, fmt.Sprintf("module: the origin %q is reserved; name another one", c.Origin))
	}
	return r.swap(ctx, &source{File: *c})
}

func (r *Registry) swap(ctx context.Context, c *source) (*Change, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.ctx, cancel)()
	r.installing.Lock()
	defer r.installing.Unlock()
	if r.ctx.Err() != nil {
		return nil, abi.NewError(abi.Conflict, "module: the gateway is closing; swap again after its restart")
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
	// Verification takes seconds and runs without the lock that commit takes.
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
		r.options.Logger.Warn("module: cleanup after a swap failed", "error", err)
	}
	// Compiling and verifying leave tens of MiB of garbage, and the next swap may be months
	// away.
	debug.FreeOSMemory()
	return change, nil
}

// saveSignature stores the signature of the already active version.
func (r *Registry) saveSignature(ctx context.Context, v *Version, c *source) error {
	if r.options.Store == nil || len(c.Signature) == 0 {
		return nil
	}
	return r.options.Store.Update(ctx, func(tx store.Tx) error { return tx.PutModule(r.row(v, c.Wasm)) })
}

// Digest returns a module's SHA-256, in hexadecimal.
func Digest(wasm []byte) string {
	sum := sha256.Sum256(wasm)
	return hex.EncodeToString(sum[:])
}

// admit checks whether a module may become active. It returns the source with its bytes
// and digest, and the key that signed it.
func (r *Registry) admit(ctx context.Context, c *source) (_ *source, signer string, err error) {
	full := *c
	want := strings.ToLower(strings.TrimPrefix(c.Digest, "sha256:"))
	switch {
	case len(c.Wasm) > 0 || want == "":
	case want == r.builtIn:
		// Recorded as built in, so that the next program's module replaces it.
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
		return &full, store.OriginBuiltIn, nil // trusted like the program
	}
	signer, err = r.options.Policy().admit(c.Wasm, c.Signature)
	return &full, signer, err
}

// load returns a version in use: a loaded one, or a new one that is not retained yet. A
// signer is recorded for both.
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

// verify verifies a version before it becomes active. The built-in module was tested
// with the program.
func (r *Registry) verify(ctx context.Context, v *Version, c *source) (*Verified, error) {
	if r.options.Verify == nil || c.builtIn {
		return nil, nil
	}
	return r.options.Verify(ctx, v, &c.File)
}

// commit records the activation and makes the version active.
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

// countPinned returns how many flows would stay with other versions if v were active.
// It fails if these are more than MaxPinned versions.
func (r *Registry) countPinned(v *Version, states []store.StateCount) (pinned int, err error) {
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
		return pinned, abi.NewError(abi.Conflict, fmt.Sprintf("module: %d flows that %s cannot resume need %d other versions; plugins.maxPinned is %d: "+
			"wait until some of these flows have ended, end them with parley flows drop, or force the swap", pinned, v, len(holders), most))
	}
	return pinned, nil
}

func (r *Registry) notifyChanged(now *Version, rolledBack bool) {
	if r.options.Changed != nil {
		r.options.Changed(now, rolledBack)
	}
}
