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

// fail lets the active version fail in so many steps.
func (w *fixture) failSteps(times int) {
	w.Helper()
	v := w.Use()
	defer v.Release()
	for range times {
		if _, err := v.Run(w.Context(), abi.ExportCall, nil, nil); err == nil {
			w.Fatal("it does not fail")
		}
	}
}

func trapping(version string) []byte { return buildWith(version, 1, 1, wasmtest.Unreachable) }

// A version that fails while another one is tried is never gone back to: not by the
// other's rollback either.
func TestRollbackDuringSwap(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.open(build("1", 1, 1), store.OriginBuiltIn)
	two, three := trapping("2"), trapping("3")
	w.swap(two)
	w.verify = func(context.Context, *module.Version) (*module.Verified, error) {
		w.failSteps(2)
		w.Wait() // a swap that is being tried does not keep a rollback waiting
		if got := w.Active().About.Version; got != "1" {
			t.Errorf("after the rollback %s serves", got)
		}
		return nil, nil
	}
	w.swap(three)
	if got := w.Active().About.Version; got != "3" {
		t.Errorf("%s serves", got)
	}
	w.failSteps(2)
	w.Wait()
	if got := w.Active().About.Version; got != "1" {
		t.Errorf("at last %s serves", got)
	}
	if fmt.Sprint(w.parked) != fmt.Sprint([]string{module.Digest(two), module.Digest(three)}) {
		t.Errorf("parked were the flows of %s", w.parked)
	}
	for _, wasm := range [][]byte{two, three} {
		if w.Distrusted(module.Digest(wasm)) == "" {
			t.Error("a version that was rolled back is trusted")
		}
	}
	w.verify = nil
	w.swap(two)
	if w.Distrusted(module.Digest(two)) != "" {
		t.Error("a version that somebody swapped to is not trusted")
	}
}

// A version whose trial was not over when it was gone back to goes on with it.
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
		t.Fatalf("%s serves", got)
	}
	w.failSteps(1)
	w.Wait()
	if got := w.Active().About.Version; got != "1" {
		t.Errorf("%s serves", got)
	}
	if got := w.history(); got != "1 rollback, 2 rollback, 3 test, 2 test, 1 built in" {
		t.Errorf("the history is %s", got)
	}
}

// A restart does not bring back by itself what was rolled back, and a program that
// is newer than the version gone back to brings its own.
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
		t.Errorf("after a restart %s serves", got)
	}
	w.open(build("3", 1, 1), store.OriginBuiltIn)
	if got := w.Active().About.Version; got != "3" {
		t.Errorf("with a newer program %s serves", got)
	}
	w.open(two, "/watched.wasm")
	if got := w.Active().About.Version; got != "2" {
		t.Errorf("long after the rollback %s serves", got)
	}
}

// Nobody but the program itself brings what is built in.
func TestReservedOrigins(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.policy.RequireSignature = true
	w.open(build("1", 1, 1), store.OriginBuiltIn)
	for _, origin := range []string{store.OriginBuiltIn, store.OriginRollback} {
		if _, err := w.Swap(t.Context(), &module.Candidate{Wasm: build("2", 1, 1), Origin: origin}); !errors.Is(err, abi.InvalidArgs) {
			t.Errorf("%s: %v", origin, err)
		}
	}
}

// A swap ends with the registry.
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
		_, err := r.Swap(context.Background(), &module.Candidate{Wasm: build("2", 1, 1), Origin: "test"})
		swapped <- err
	}()
	<-trying
	w.closeRegistry()
	if err := <-swapped; !errors.Is(err, context.Canceled) {
		t.Errorf("the swap ended with %v", err)
	}
	if _, err := r.Swap(t.Context(), &module.Candidate{Wasm: build("2", 1, 1), Origin: "test"}); !errors.Is(err, abi.Conflict) {
		t.Errorf("a swap after the end: %v", err)
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
		t.Errorf("told of %s, parked the flows of %s", w.notified, w.parked)
	}
	w.open(one, store.OriginBuiltIn)
	w.checkVersion(w.Use(), "1")
}

// A version whose trial is over stays, whatever it does, and so does one that fails
// too rarely.
func TestTrialEnds(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	// It traps on any input.
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
