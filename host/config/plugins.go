package config

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"slices"
	"strings"

	"github.com/parley-wasm/parley/abi"
)

// Plugins say which versions of the plugin may serve, and what they may use.
type Plugins struct {
	RequireSignature bool
	Keys             []PluginKey // whose signatures are trusted
	// Allow are the host functions that plugins may use if they ask for them, such as
	// "store.list"; nil: all.
	Allow []string
	// Verify says which vectors a version must pass before it serves: one of the
	// Verify constants.
	Verify string
	// A version that fails in RollbackFailures of its first RollbackSteps steps is
	// taken back; 0 failures: never.
	RollbackFailures, RollbackSteps int
	MaxPinned                       int    // versions that are kept for flows which the active one cannot go on with
	Watch                           string // a file whose content is to be active; empty: none
	Limits                          PluginLimits
}

// Allows reports whether plugins may use a host function that they ask for.
func (p *Plugins) Allows(capability string) bool {
	return p.Allow == nil || slices.Contains(p.Allow, capability)
}

// Which vectors a version must pass.
const (
	VerifyAll   = "all"
	VerifyQuick = "quick" // some of each tool's
	VerifyNone  = "none"
)

// PluginKey is a public key.
type PluginKey struct {
	Name   string
	Public ed25519.PublicKey
}

// PluginLimits bound a step of a plugin (engine.Limits and step.Limits say how). Zero
// means the default there.
type PluginLimits struct {
	Fuel          int
	MemoryMiB     int
	StepTimeoutMs int
	HostCalls     int
	InMiB         int
	OutMiB        int
	LogLines      int
	Runs          int
	Deliveries    int
}

// maxFuel keeps plugins.limits.fuel a whole number in every JSON reader.
const maxFuel = 1 << 53

func (p *Plugins) read(r *reader, v value) {
	keyless := true // an unusable key is a problem of its own
	r.object(v,
		field{"requireSignature", r.boolInto(&p.RequireSignature)},
		field{"keys", func(v value) {
			r.each(v, func(name string, v value) {
				keyless = false
				text, ok := r.text(v)
				if !ok {
					return
				}
				key, err := parseKey(text)
				if err != nil {
					r.problem(v, "%v; it must be an ed25519 public key, as PEM or base64", err)
					return
				}
				p.Keys = append(p.Keys, PluginKey{name, key})
			})
		}},
		field{"allow", func(v value) { p.readAllow(r, v) }},
		field{"verify", r.enumInto(&p.Verify, VerifyAll, VerifyQuick, VerifyNone)},
		field{"rollback", func(v value) {
			r.object(v,
				field{"failures", r.intInto(&p.RollbackFailures, 0, 1000)},
				field{"steps", r.intInto(&p.RollbackSteps, 1, 1_000_000)},
			)
		}},
		field{"maxPinned", r.intInto(&p.MaxPinned, 0, 1000)},
		field{"watch", r.textInto(&p.Watch)},
		field{"limits", func(v value) {
			l := &p.Limits
			r.object(v,
				field{"fuel", r.intInto(&l.Fuel, 1, maxFuel)},
				field{"memoryMiB", r.intInto(&l.MemoryMiB, 1, 4095)},
				field{"stepTimeoutMs", r.intInto(&l.StepTimeoutMs, 1, 600_000)},
				field{"hostCalls", r.intInto(&l.HostCalls, 1, 1_000_000)},
				field{"inMiB", r.intInto(&l.InMiB, 1, 1023)},
				field{"outMiB", r.intInto(&l.OutMiB, 1, 1023)},
				field{"logLines", r.intInto(&l.LogLines, 1, 1_000_000)},
				field{"runs", r.intInto(&l.Runs, 1, 16)},
				field{"deliveries", r.intInto(&l.Deliveries, 1, 16)},
			)
		}},
	)
	if p.RequireSignature && keyless {
		r.problem(v, "requireSignature is true, but there are no keys to check signatures with; add keys")
	}
}

// readAllow reads names of host functions, or of a family with all that it has.
func (p *Plugins) readAllow(r *reader, v value) {
	p.Allow = []string{}
	r.list(v, func(v value) {
		name, ok := r.text(v)
		if !ok {
			return
		}
		family, all := strings.CutSuffix(name, ".*")
		var found []string
		for _, c := range abi.Capabilities {
			if c == name || all && strings.HasPrefix(c, family+".") {
				found = append(found, c)
			}
		}
		if found == nil {
			r.problem(v, "%q is no host function; there are %s", clip(name), strings.Join(abi.Capabilities, ", "))
			return
		}
		for _, c := range found {
			if !slices.Contains(p.Allow, c) {
				p.Allow = append(p.Allow, c)
			}
		}
	})
}

// parseKey reads an ed25519 public key: PEM, or the base64 of its 32 bytes or of
// what PEM holds.
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
		return nil, errors.New("is no public key")
	}
	public, ok := key.(ed25519.PublicKey)
	if !ok {
		return nil, errors.New("is of another kind")
	}
	return public, nil
}
