package module_test

import (
	"context"
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

// failSteps runs steps of the active version. Each step must fail.
func (w *fixture) failSteps(times int) {
	w.Helper()
	v := w.Use()
	defer v.Release()
	for range times {
		if _, err := v.Run(w.Context(), abi.ExportCall, nil, nil); err == nil {
			w.Fatal("a step of the active version succeeded")
		}
	}
}

// trapping returns a plugin that traps in every call.
func trapping(version string) []byte { return buildWith(version, 1, 1, wasmtest.Unreachable) }

// TestRollbackDuringSwap lets a version fail its trial while a swap verifies another
// version. It checks that no rollback activates the failed version again.
func TestRollbackDuringSwap(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.open(build("1", 1, 1), store.OriginBuiltIn)
	two, three := trapping("2"), trapping("3")
	w.swap(two)
	w.verify = func(context.Context, *module.Version) (*module.Verified, error) {
		w.failSteps(2)
		w.Wait() // a rollback does not wait for the verification of a swap
		if got := w.Active().About.Version; got != "1" {
			t.Errorf("after the rollback %s is active", got)
		}
		return nil, nil
	}
	w.swap(three)
	if got := w.Active().About.Version; got != "3" {
		t.Errorf("%s is active", got)
	}
	w.failSteps(2)
	w.Wait()
	if got := w.Active().About.Version; got != "1" {
		t.Errorf("after the second rollback %s is active", got)
	}
	if fmt.Sprint(w.parked) != fmt.Sprint([]string{module.Digest(two), module.Digest(three)}) {
		t.Errorf("the flows of %s were parked", w.parked)
	}
	for _, wasm := range [][]byte{two, three} {
		if w.Distrusted(module.Digest(wasm)) == "" {
			t.Error("a version that was rolled back is trusted")
		}
	}
	w.verify = nil
	w.swap(two)
	if w.Distrusted(module.Digest(two)) != "" {
		t.Error("a version is distrusted although it was swapped to")
	}
}

// TestTrialResumesAfterRollback checks that a version resumes its own unfinished trial
// after a rollback to it.
func TestTrialResumesAfterRollback(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.open(build("1", 1, 1), store.OriginBuiltIn)
	w.swap(trapping("2"))
	w.failSteps(1)
	w.swap(trapping("3"))
	if err := w.Tidy(t.Context()); err != nil || len(strings.Fields(w.loaded())) != 3 {
		t.Errorf("%s are loaded, %v", w.loaded(), err)
	}
	w.failSteps(2)
	w.Wait()
	if got := w.Active().About.Version; got != "2" {
		t.Fatalf("%s is active", got)
	}
	w.failSteps(1)
	w.Wait()
	if got := w.Active().About.Version; got != "1" {
		t.Errorf("%s is active", got)
	}
	if got := w.history(); got != "1 rollback, 2 rollback, 3 test, 2 test, 1 built in" {
		t.Errorf("the history is %s", got)
	}
}

// TestOpenAfterRollback checks that a restart does not activate a file that was rolled
// back, until another version has been active, and that a newer program activates its
// built-in module.
func TestOpenAfterRollback(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	one, two := build("1", 1, 1), trapping("2")
	w.open(one, store.OriginBuiltIn)
	w.open(two, "/watched.wasm")
	w.failSteps(2)
	w.Wait()
	w.open(two, "/watched.wasm")
	if got := w.Active().About.Version; got != "1" {
		t.Errorf("after a restart %s is active", got)
	}
	w.open(build("3", 1, 1), store.OriginBuiltIn)
	if got := w.Active().About.Version; got != "3" {
		t.Errorf("with a newer program %s is active", got)
	}
	w.open(two, "/watched.wasm")
	if got := w.Active().About.Version; got != "2" {
		t.Errorf("with another version active since the rollback, %s is active", got)
	}
}

// TestReservedOrigins checks that Swap rejects the origins that the registry itself
// uses.
func TestReservedOrigins(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.policy.RequireSignature = true
	w.open(build("1", 1, 1), store.OriginBuiltIn)
	for _, origin := range []string{store.OriginBuiltIn, store.OriginRollback} {
		if _, err := w.Swap(t.Context(), &module.File{Wasm: build("2", 1, 1), Origin: origin}); !errors.Is(err, abi.InvalidArgs) {
			t.Errorf("%s: %v", origin, err)
		}
	}
}

// TestCloseCancelsSwap checks that Close cancels a running swap.
func TestCloseCancelsSwap(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.open(build("1", 1, 1), store.OriginBuiltIn)
	trying := make(chan struct{})
	w.verify = func(ctx context.Context, _ *module.Version) (*module.Verified, error) {
		close(trying)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	r, swapped := w.Registry, make(chan error)
	go func() {
		_, err := r.Swap(context.Background(), &module.File{Wasm: build("2", 1, 1), Origin: "test"})
		swapped <- err
	}()
	<-trying
	w.closeRegistry()
	if err := <-swapped; !errors.Is(err, context.Canceled) {
		t.Errorf("the swap ended with %v", err)
	}
	if _, err := r.Swap(t.Context(), &module.File{Wasm: build("2", 1, 1), Origin: "test"}); !errors.Is(err, abi.Conflict) {
		t.Errorf("a swap after Close: %v", err)
	}
}

func TestRollback(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	one := build("1", 1, 1)
	bad := buildWith("2", 1, 1, wasmtest.Unreachable)
	w.open(one, store.OriginBuiltIn)
	w.swap(bad)
	v := w.Use()
	for range 2 {
		if _, err := v.Run(t.Context(), abi.ExportCall, nil, nil); !errors.Is(err, engine.Trap) {
			t.Fatal(err)
		}
	}
	v.Release()
	w.Wait()
	w.checkVersion(w.Use(), "1")
	if got := w.history(); got != "1 rollback, 2 test, 1 built in" {
		t.Errorf("the history is %s", got)
	}
	if fmt.Sprint(w.notified) != "[2 1*]" || len(w.parked) != 1 || w.parked[0] != module.Digest(bad) {
		t.Errorf("notified of %s, parked the flows of %s", w.notified, w.parked)
	}
	w.open(one, store.OriginBuiltIn)
	w.checkVersion(w.Use(), "1")
}

// TestTrialEnds checks that failures after the trial, or too few failures during it, do
// not cause a rollback.
func TestTrialEnds(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	// The new version traps on any nonempty input.
	w.open(build("1", 1, 1), store.OriginBuiltIn)
	w.swap(buildWith("2", 1, 1, wasmtest.Code(wasmtest.Call(wasmtest.InputLength), []byte{0x50, 0x45, 0x04, 0x40}, wasmtest.Unreachable, []byte{0x0b})))
	v := w.Use()
	for _, input := range []string{"trap", "", "", "", "", "trap", "trap", "trap"} {
		_, _ = v.Run(t.Context(), abi.ExportCall, []byte(input), nil)
	}
	v.Release()
	w.Wait()
	w.checkVersion(w.Use(), "2")
	if err := w.Tidy(t.Context()); err != nil || w.loaded() != "2" {
		t.Errorf("%s are loaded, %v", w.loaded(), err)
	}
}
