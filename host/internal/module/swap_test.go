package module_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/engine"
	"github.com/parley-wasm/parley/host/internal/engine/wasmtest"
	"github.com/parley-wasm/parley/host/internal/module"
	"github.com/parley-wasm/parley/host/store"
)

func TestSwap(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.policy.TrialFailures = 0
	one, two := build("1", 1, 1), build("2", 1, 1)
	w.open(one, store.OriginBuiltIn)
	old := w.Use()
	c := w.swap(two)
	if c.Before != old || c.After.About.Version != "2" || c.Same || w.Active() != c.After {
		t.Errorf("the swap returned %+v", c)
	}
	w.checkVersion(w.Use(), "2")
	// A running step finishes in the old version, which is then closed.
	w.checkVersion(old, "1")
	if _, err := old.Run(t.Context(), abi.ExportCall, nil, nil); !errors.Is(err, engine.Closed) {
		t.Errorf("the old version after its last step: %v", err)
	}
	if again := w.swap(two); !again.Same {
		t.Errorf("the same again: %+v", again)
	}
	if got := w.history(); got != "2 test, 1 built in" {
		t.Errorf("the history is %s", got)
	}
	w.open(one, store.OriginBuiltIn)
	w.checkVersion(w.Use(), "2")
	if got := fmt.Sprint(w.notified); got != "[2]" {
		t.Errorf("notified of %s", got)
	}
}

// TestSwapRefused checks that Swap rejects bad modules, and that the previous version
// stays active.
func TestSwapRefused(t *testing.T) {
	t.Parallel()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	good := build("2", 1, 1)
	signature := ed25519.Sign(private, good)
	other := ed25519.Sign(private, build("3", 1, 1))
	boom := errors.New("a vector fails")
	for _, tt := range []struct {
		name   string
		c      module.File
		policy module.Policy
		verify error
		want   error
		text   string
	}{
		{"no module", module.File{Wasm: []byte("hello")}, module.Policy{}, nil, engine.NotAModule, "not a WebAssembly module"},
		{"start traps", module.File{Wasm: starting(wasmtest.Unreachable)}, module.Policy{}, nil, engine.Trap, "start: trap"},
		{"start never ends", module.File{Wasm: starting(wasmtest.Forever)}, module.Policy{}, nil, engine.Fuel, "limit: fuel"},
		{"no tools", module.File{Wasm: wasmtest.Plugin(wasmtest.I32(0)).Encode()}, module.Policy{}, nil, abi.InvalidArgs, "offers no tools"},
		{"another file", module.File{Wasm: good, Digest: "sha256:" + strings.Repeat("0", 64)}, module.Policy{}, nil, abi.InvalidArgs, "the file's digest is sha256:" + module.Digest(good)},
		{"unsigned", module.File{Wasm: good}, module.Policy{RequireSignature: true}, nil, abi.Forbidden, "not signed"},
		{"signature without keys", module.File{Wasm: good, Signature: signature}, module.Policy{}, nil, abi.Forbidden, "has no key to check it with"},
		{"another signature", module.File{Wasm: good, Signature: other}, module.Policy{Keys: []module.Key{{Name: "k", Public: public}}}, nil, abi.Forbidden, "none of the 1 keys"},
		{"a vector fails", module.File{Wasm: good}, module.Policy{}, boom, boom, "a vector fails"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newFixture(t)
			w.open(build("1", 1, 1), store.OriginBuiltIn)
			w.policy = tt.policy
			w.verify = func(context.Context, *module.Version) (*module.Verified, error) { return nil, tt.verify }
			_, err := w.Swap(t.Context(), &tt.c)
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("got %v, want %v with %q", err, tt.want, tt.text)
			}
			w.checkVersion(w.Use(), "1")
			if got := w.history() + "; " + w.loaded(); got != "1 built in; 1" {
				t.Errorf("the history is %s", got)
			}
		})
	}
}

// starting returns a plugin with this start function.
func starting(body []byte) []byte {
	m := wasmtest.Plugin(wasmtest.I32(0))
	m.Start = wasmtest.OwnFuncs + len(m.Funcs)
	m.Funcs = append(m.Funcs, wasmtest.Func{Type: wasmtest.Void, Body: body})
	return m.Encode()
}

func TestMaxPinned(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.policy.MaxPinned = 1
	w.policy.TrialFailures = 0
	all := [][]byte{build("1", 1, 1), build("2", 2, 2), build("3", 3, 3)}
	w.open(all[0], store.OriginBuiltIn)
	w.flow("a", all[0], "1", 1, 0)
	w.swap(all[1])
	w.flow("b", all[1], "2", 2, 0)
	_, err := w.Swap(t.Context(), &module.File{Wasm: all[2]})
	if !errors.Is(err, abi.Conflict) || !strings.Contains(err.Error(), "2 flows that p 3") || w.Active().About.Version != "2" {
		t.Errorf("a second pinned version: %v", err)
	}
	if _, err := w.Swap(t.Context(), &module.File{Wasm: all[2], Force: true}); err != nil {
		t.Error(err)
	}
	if got := w.loaded(); len(got) != len("3 1 2") {
		t.Errorf("%s are loaded", got)
	}
}
