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

// File is a module to activate.
type File struct {
	// Wasm is the content of the module file; empty: the built-in or stored module with
	// this Digest.
	Wasm []byte
	// Origin says where the module came from, for example a path. The history records
	// it.
	Origin string
	// Digest is the expected SHA-256 of the module, in hexadecimal; empty: any.
	Digest string
	// Signature is an ed25519 signature of the module; empty: none.
	Signature []byte
	// Force allows the swap even if more than Policy.MaxPinned versions must stay
	// loaded, or if no vector could be verified.
	Force bool
}

// Verified is the result of a successful verification.
type Verified struct {
	Level   string `json:"level"`
	Passed  int    `json:"passed"`  // vectors
	Skipped int    `json:"skipped"` // vectors that were skipped because they need tools which the module does not describe
}

// source is a File, and whether it is the built-in module of the program.
type source struct {
	File
	builtIn bool
}

// Change is the result of a swap.
type Change struct {
	Before, After *Version
	// Same reports whether the module was already active. Then at most its signature
	// was stored.
	Same bool
	// Verified is nil without verification.
	Verified *Verified
	// Pinned is the number of flows that versions other than the active one resume.
	Pinned int
}

// Swap activates a module. When Swap returns, the new version serves new calls; running
// steps finish in the version in which they started. On any error the previous version
// stays active. An error that the module or the file causes matches an abi.Code.
func (r *Registry) Swap(ctx context.Context, file *File) (*Change, error) {
	if file.Origin == store.OriginBuiltIn || file.Origin == store.OriginRollback {
		return nil, abi.NewError(abi.InvalidArgs, fmt.Sprintf("module: the origin %q is reserved; name another one", file.Origin))
	}
	return r.swap(ctx, &source{File: *file})
}

func (r *Registry) swap(ctx context.Context, src *source) (*Change, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.ctx, cancel)()
	r.swapMu.Lock()
	defer r.swapMu.Unlock()
	if r.ctx.Err() != nil {
		return nil, abi.NewError(abi.Conflict, "module: the gateway is closing; swap again after its restart")
	}
	src, signer, err := r.admit(ctx, src)
	if err != nil {
		return nil, err
	}
	v, err := r.load(ctx, src.Digest, src.Wasm, signer)
	if err != nil {
		return nil, err
	}
	defer v.Release()
	if active := r.Active(); v == active {
		return &Change{Before: active, After: active, Same: true}, r.saveSignature(ctx, v, src)
	}
	// Verification can take seconds, so it runs without the lock that commit takes.
	verified, err := r.verify(ctx, v, src)
	if err != nil {
		return nil, err
	}
	change, err := r.commit(ctx, v, src)
	if err != nil {
		return nil, err
	}
	change.Verified = verified
	r.options.Logger.Info("module: swapped", "from", change.Before.String(), "to", v.String(), "origin", src.Origin, "pinned", change.Pinned)
	r.notifyChanged(v, false)
	if err := r.Tidy(ctx); err != nil {
		r.options.Logger.Warn("module: cleanup after a swap failed", "error", err)
	}
	// Compiling and verifying leave tens of MiB of garbage, and the next swap may be months
	// away.
	debug.FreeOSMemory()
	return change, nil
}

// saveSignature stores a new signature of the active version.
func (r *Registry) saveSignature(ctx context.Context, v *Version, src *source) error {
	if r.options.Store == nil || len(src.Signature) == 0 {
		return nil
	}
	return r.options.Store.Update(ctx, func(tx store.Tx) error { return tx.PutModule(r.row(v, src.Wasm)) })
}

// Digest returns a module's SHA-256, in hexadecimal.
func Digest(wasm []byte) string {
	sum := sha256.Sum256(wasm)
	return hex.EncodeToString(sum[:])
}

// admit checks whether a module may become active. It returns a copy of src with the
// module's bytes and digest filled in, and the signer (see Version.Signer).
func (r *Registry) admit(ctx context.Context, src *source) (_ *source, signer string, err error) {
	full := *src
	want := strings.ToLower(strings.TrimPrefix(src.Digest, "sha256:"))
	switch {
	case len(src.Wasm) > 0 || want == "":
	case want == r.builtIn:
		// Record the origin as built in, so that the built-in module of the next
		// program replaces it.
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
		return nil, "", abi.NewError(abi.InvalidArgs, fmt.Sprintf("module: the file's digest is sha256:%s, not %s", full.Digest, src.Digest))
	}
	if full.builtIn || full.Digest == r.builtIn {
		return &full, store.OriginBuiltIn, nil // needs no signature
	}
	signer, err = r.options.Policy().admit(src.Wasm, src.Signature)
	return &full, signer, err
}

// load returns a loaded version, or loads a new one, which is not retained yet. It
// records the signer, if any. The caller must call Release.
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

// verify calls Options.Verify, except for the built-in module, which was tested with
// the program.
func (r *Registry) verify(ctx context.Context, v *Version, src *source) (*Verified, error) {
	if r.options.Verify == nil || src.builtIn {
		return nil, nil
	}
	return r.options.Verify(ctx, v, &src.File)
}

// commit stores the activation and makes the version active.
func (r *Registry) commit(ctx context.Context, v *Version, src *source) (*Change, error) {
	r.versionsMu.Lock()
	defer r.versionsMu.Unlock()
	states, err := r.states(ctx)
	if err != nil {
		return nil, err
	}
	pinned, err := r.countPinned(v, states)
	if err != nil && !src.Force {
		return nil, err
	}
	now := r.options.Now().UnixMilli()
	if err := r.recordActivation(ctx, v, src.Wasm, &store.Activation{Digest: v.digest, At: now, Origin: src.Origin}); err != nil {
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

// countPinned returns how many flows other versions would have to resume if v were
// active. It returns an error too if more than MaxPinned versions are needed for them.
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
