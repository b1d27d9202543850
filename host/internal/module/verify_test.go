package module_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/module"
	"github.com/parley-wasm/parley/host/internal/module/verify"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/plugin/wasm"
)

// TestSwapVerifies checks that Swap rejects a module that fails the vectors, and
// accepts one that passes them.
func TestSwapVerifies(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	verifications := 0
	w.verify = func(ctx context.Context, v *module.Version) (*module.Verified, error) {
		verifications++
		r, err := verify.Module(ctx, v.Run, &verify.Options{Level: verify.Quick, Tools: verify.Names(v.About.Tools)})
		if err != nil {
			return nil, err
		}
		return &module.Verified{Passed: r.Passed}, r.Err()
	}
	w.open(wasm.Parley, store.OriginBuiltIn)
	built := module.Digest(wasm.Parley)
	if verifications != 0 {
		t.Error("the built-in module was verified")
	}
	wrong := bytes.ReplaceAll(wasm.Parley, []byte(`"count":`), []byte(`"kount":`))
	_, err := w.Swap(t.Context(), &module.File{Wasm: wrong, Origin: "test"})
	if !errors.Is(err, abi.InvalidArgs) || !strings.Contains(err.Error(), "S0.1/result-is-one-object: step 1: sessions_list: ") {
		t.Errorf("got %v", err)
	}
	if w.Active().Digest() != built || len(w.Loaded()) != 1 || len(w.notified) != 0 {
		t.Errorf("%s is active, %d are loaded, notified of %q", w.Active(), len(w.Loaded()), w.notified)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	right := append(bytes.Clone(wasm.Parley), 0, 3, 1, 'x', 0) // a custom section changes the digest
	if _, err := w.Swap(ctx, &module.File{Wasm: right, Origin: "test"}); err == nil || w.Active().Digest() != built {
		t.Errorf("canceled: %v, %s is active", err, w.Active())
	}
	if c := w.swap(right); c.After.Digest() != module.Digest(right) || verifications != 2 || c.Verified == nil || c.Verified.Passed == 0 {
		t.Errorf("%s is active after %d verifications: %+v", c.After, verifications, c.Verified)
	}
	w.open(right, "test")
	if verifications != 2 || w.Active().Digest() != module.Digest(right) {
		t.Errorf("%d verifications, %s is active: the active version was verified again", verifications, w.Active())
	}
}

// TestFirstVersionIsVerified checks that Open verifies a module that the operator asked
// for, even on an empty store.
func TestFirstVersionIsVerified(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	errVerify := errors.New("verification failed")
	open := func(origin string) error {
		r, err := module.Open(t.Context(), &module.Options{
			Engine: w.engine, Store: w.db, Policy: func() *module.Policy { return &w.policy },
			Verify: func(context.Context, *module.Version, *module.File) (*module.Verified, error) {
				return nil, errVerify
			},
			Logger: slog.New(slog.DiscardHandler), Now: time.Now,
		}, &module.File{Wasm: build("1", 1, 1), Origin: origin})
		if r != nil && err == nil {
			err = r.Close(t.Context())
		}
		return err
	}
	for range 2 { // the first attempt must not store anything
		if err := open("file"); !errors.Is(err, errVerify) {
			t.Errorf("got %v", err)
		}
	}
	for _, origin := range []string{store.OriginBuiltIn, "file"} { // after the first round, the module is the active version
		if err := open(origin); err != nil {
			t.Errorf("%s: %v", origin, err)
		}
	}
}
