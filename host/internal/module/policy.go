package module

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

// Policy says which modules may serve. The zero value accepts all of them, and
// keeps none on trial.
type Policy struct {
	// RequireSignature refuses a module without a signature of one of the keys.
	RequireSignature bool
	Keys             []Key
	// A new version that fails in TrialFailures of its first TrialSteps steps is rolled
	// back; TrialFailures 0: never.
	TrialFailures, TrialSteps int
	// MaxPinned is how many versions may be kept for flows that the active one
	// cannot go on with.
	MaxPinned int
}

// Key is a public key whose signatures are trusted.
type Key struct {
	Name   string
	Public ed25519.PublicKey
}

// signer is what is kept of a key that signed a module: its name, and which key that
// was, so that another one of the same name does not stand for it.
func (k Key) signer() string {
	sum := sha256.Sum256(k.Public)
	return fmt.Sprintf("%s %x", k.Name, sum[:8])
}

// ParseSignature reads the content of a signature's file: 64 bytes, or their
// base64.
func ParseSignature(content []byte) ([]byte, error) {
	if len(content) == ed25519.SignatureSize {
		return content, nil
	}
	signature, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(content)))
	if err != nil || len(signature) != ed25519.SignatureSize {
		return nil, abi.NewError(abi.InvalidArgs, fmt.Sprintf("module: a signature has %d bytes, or is their base64; this has %d", ed25519.SignatureSize, len(content)))
	}
	return signature, nil
}

// admitKept says whether a module that was admitted before may still serve.
func (p *Policy) admitStored(m *store.Module) error {
	if !p.RequireSignature || m.Signer == store.OriginBuiltIn || slices.ContainsFunc(p.Keys, func(k Key) bool { return k.signer() == m.Signer }) {
		return nil
	}
	return abi.NewError(abi.Forbidden, fmt.Sprintf("module: %.12s was signed by none of the keys in plugins.keys, and plugins.requireSignature is set", m.Digest))
}

// Unadmitted returns the loaded versions that could not be loaded again under the
// policy in force, which may be stricter than the one that let them in.
func (r *Registry) Unadmitted() []*Version {
	p := r.options.Policy()
	return slices.DeleteFunc(r.Loaded(), func(v *Version) bool {
		return p.admitStored(&store.Module{Digest: v.digest, Signer: v.Signer()}) == nil
	})
}

// admit returns which key signed the module. A signature that no key
// made is refused even if none is required: somebody meant it to be checked.
func (p *Policy) admit(wasm, signature []byte) (signer string, err error) {
	if len(signature) == 0 {
		if p.RequireSignature {
			return "", abi.NewError(abi.Forbidden, "module: it is not signed, and plugins.requireSignature is set")
		}
		return "", nil
	}
	for _, k := range p.Keys {
		if ed25519.Verify(k.Public, wasm, signature) {
			return k.signer(), nil
		}
	}
	if len(p.Keys) == 0 {
		return "", abi.NewError(abi.Forbidden, "module: it has a signature, but plugins.keys has no key to check it with: add the key, or take the signature away")
	}
	return "", abi.NewError(abi.Forbidden, fmt.Sprintf("module: the signature is of none of the %d keys in plugins.keys, or of another file", len(p.Keys)))
}
