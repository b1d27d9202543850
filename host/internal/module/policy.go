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

// Policy decides which modules may become active. The zero value accepts all modules
// and has no trial.
type Policy struct {
	// RequireSignature rejects modules without a signature by one of the keys.
	RequireSignature bool
	Keys             []Key
	// TrialFailures is the number of failures among the first TrialSteps steps of a new
	// version that causes a rollback; 0: no rollbacks.
	TrialFailures, TrialSteps int
	// MaxPinned bounds the number of versions that stay loaded for flows which the
	// active version cannot resume.
	MaxPinned int
}

// Key is a trusted public key.
type Key struct {
	Name   string
	Public ed25519.PublicKey
}

// signer returns the stored form of a key: its name and a hash. Because of the hash,
// another key with the same name does not match.
func (k Key) signer() string {
	sum := sha256.Sum256(k.Public)
	return fmt.Sprintf("%s %x", k.Name, sum[:8])
}

// ParseSignature returns the signature in a signature file: the content is its 64
// bytes, or their base64.
func ParseSignature(content []byte) ([]byte, error) {
	if len(content) == ed25519.SignatureSize {
		return content, nil
	}
	signature, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(content)))
	if err != nil || len(signature) != ed25519.SignatureSize {
		return nil, abi.NewError(abi.InvalidArgs, fmt.Sprintf("module: a signature has %d bytes or is their base64; this one has %d bytes", ed25519.SignatureSize, len(content)))
	}
	return signature, nil
}

// admitStored returns an error if the policy does not allow a module that was admitted
// before.
func (p *Policy) admitStored(m *store.Module) error {
	if !p.RequireSignature || m.Signer == store.OriginBuiltIn || slices.ContainsFunc(p.Keys, func(k Key) bool { return k.signer() == m.Signer }) {
		return nil
	}
	return abi.NewError(abi.Forbidden, fmt.Sprintf("module: %.12s is not signed by a key in plugins.keys, and plugins.requireSignature is set", m.Digest))
}

// NotAdmitted returns the loaded versions that the current policy would reject, because
// it is stricter than the policy that admitted them.
func (r *Registry) NotAdmitted() []*Version {
	p := r.options.Policy()
	return slices.DeleteFunc(r.Loaded(), func(v *Version) bool {
		return p.admitStored(&store.Module{Digest: v.digest, Signer: v.Signer()}) == nil
	})
}

// admit returns the stored form of the key that signed the module, or "" if the module
// is not signed. It rejects an invalid signature even if no signature is required.
func (p *Policy) admit(wasm, signature []byte) (signer string, err error) {
	if len(signature) == 0 {
		if p.RequireSignature {
			return "", abi.NewError(abi.Forbidden, "module: the file is not signed, and plugins.requireSignature is set")
		}
		return "", nil
	}
	for _, k := range p.Keys {
		if ed25519.Verify(k.Public, wasm, signature) {
			return k.signer(), nil
		}
	}
	if len(p.Keys) == 0 {
		return "", abi.NewError(abi.Forbidden, "module: the file has a signature, but plugins.keys has no key to check it with: add the key, or omit the signature")
	}
	return "", abi.NewError(abi.Forbidden, fmt.Sprintf("module: the signature matches none of the %d keys in plugins.keys, or is for another file", len(p.Keys)))
}
