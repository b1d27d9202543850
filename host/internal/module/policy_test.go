package module_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/module"
	"github.com/parley-wasm/parley/host/store"
)

func TestSignatures(t *testing.T) {
	t.Parallel()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	w := newFixture(t)
	w.policy.RequireSignature, w.policy.Keys = true, []module.Key{{Name: "release", Public: public}}
	one, two := build("1", 1, 1), build("2", 1, 1)
	w.open(one, store.OriginBuiltIn) // needs no signature
	text := base64.StdEncoding.EncodeToString(ed25519.Sign(private, two)) + "\n"
	signature, err := module.ParseSignature([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Swap(t.Context(), &module.File{Wasm: two, Signature: signature, Digest: module.Digest(two)}); err != nil {
		t.Fatal(err)
	}
	if v := w.Active(); !strings.HasPrefix(v.Signer(), "release ") {
		t.Errorf("signed by %q", v.Signer())
	}
	w.open(one, store.OriginBuiltIn)
	if v := w.Active(); v.About.Version != "2" || !strings.HasPrefix(v.Signer(), "release ") {
		t.Errorf("after a restart %s is active, signed by %q", v, v.Signer())
	}
	if bad := w.NotAdmitted(); len(bad) > 0 {
		t.Errorf("not admitted: %s", bad)
	}
	// Another key with the same name does not match the signature.
	other, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	w.policy.Keys = []module.Key{{Name: "release", Public: other}}
	if bad := w.NotAdmitted(); len(bad) != 1 || bad[0].About.Version != "2" {
		t.Errorf("not admitted: %s, want the version whose key was replaced", bad)
	}
	w.open(one, store.OriginBuiltIn)
	if v := w.Active(); v.About.Version != "1" {
		t.Errorf("%s is active although its key was replaced", v)
	}
	if _, err := module.ParseSignature([]byte("short")); !errors.Is(err, abi.InvalidArgs) {
		t.Errorf("a short signature: %v", err)
	}
}
