package config

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"slices"
	"strings"
)

// Plugins are the settings of plugin versions: signatures, capabilities, verification,
// rollback and limits.
type Plugins struct {
	RequireSignature bool       `config:"requireSignature"`
	Keys             PluginKeys `config:"keys"` // trusted signing keys
	// Allow lists the host functions that plugins may use if they request them, such as
	// "store.list"; nil: all.
	Allow []string `config:"allow" format:"capability"`
	// Verify selects the conformance vectors that a version must pass before it becomes
	// active: one of the Verify constants.
	Verify string `config:"verify" oneOf:"all quick none"`
	// A version that fails in RollbackFailures of its first RollbackSteps steps is
	// rolled back. 0 RollbackFailures disable rollbacks.
	RollbackFailures int          `config:"rollback.failures" range:"0 1000"`
	RollbackSteps    int          `config:"rollback.steps" range:"1 1000000"`
	MaxPinned        int          `config:"maxPinned" range:"0 1000"` // maximum number of old versions for flows that the active version cannot resume
	Watch            string       `config:"watch"`                    // a module file that becomes active when it changes; empty: none
	Limits           PluginLimits `config:"limits"`
}

// Allows reports whether plugins may use a host function that they request.
func (p *Plugins) Allows(capability string) bool {
	return p.Allow == nil || slices.Contains(p.Allow, capability)
}

// Values of plugins.verify: the vectors that a version must pass.
const (
	VerifyAll   = "all"
	VerifyQuick = "quick" // the first vector of each kind
	VerifyNone  = "none"
)

// PluginKey is a public key for signatures of modules, with its name in the file.
type PluginKey struct {
	Name   string
	Public ed25519.PublicKey
}

// PluginKeys are the members of the object plugins.keys, in the order of the file.
type PluginKeys []PluginKey

// PluginLimits are the limits of one step of a plugin. Zero selects a default of
// engine.Limits or step.Limits, which also describe the limits. The maximum of Fuel is 2^53,
// because JSON readers may round larger integers.
type PluginLimits struct {
	Fuel          int `config:"fuel" range:"1 9007199254740992"`
	MemoryMiB     int `config:"memoryMiB" range:"1 4095"`
	StepTimeoutMs int `config:"stepTimeoutMs" range:"1 600000"`
	HostCalls     int `config:"hostCalls" range:"1 1000000"`
	InMiB         int `config:"inMiB" range:"1 1023"`
	OutMiB        int `config:"outMiB" range:"1 1023"`
	LogLines      int `config:"logLines" range:"1 1000000"`
	Runs          int `config:"runs" range:"1 16"`
	Deliveries    int `config:"deliveries" range:"1 16"`
}

func (p *Plugins) read(r *reader, v value) {
	r.object(v, p)
	if p.RequireSignature && len(p.Keys) == 0 {
		r.problem(v, "requireSignature is true, but there are no keys to check signatures with; add keys")
	}
	allow := p.Allow[:0:0] // nil if p.Allow is nil
	for _, name := range p.Allow {
		for _, c := range capabilities(name) {
			if !slices.Contains(allow, c) {
				allow = append(allow, c)
			}
		}
	}
	p.Allow = allow
}

func (p *PluginKeys) read(r *reader, v value) {
	r.each(v, func(name string, v value) {
		key := PluginKey{Name: name}
		if text, ok := r.text(v, &member{}); ok {
			var err error
			if key.Public, err = parseKey(text); err != nil {
				r.problem(v, "%v; it must be an ed25519 public key, as PEM or base64", err)
			}
		}
		*p = append(*p, key)
	})
}

// parseKey reads an ed25519 public key: PEM, or the base64 of its 32 bytes or of its DER
// encoding.
func parseKey(text string) (ed25519.PublicKey, error) {
	der, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if block, _ := pem.Decode([]byte(text)); block != nil {
		der, err = block.Bytes, nil
	}
	if err != nil {
		return nil, errors.New("is neither PEM nor base64")
	}
	if len(der) == ed25519.PublicKeySize {
		return ed25519.PublicKey(der), nil
	}
	key, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return nil, errors.New("is not a public key")
	}
	public, ok := key.(ed25519.PublicKey)
	if !ok {
		return nil, errors.New("is a key of another type")
	}
	return public, nil
}
