package module_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/engine"
	"github.com/parley-wasm/parley/host/internal/engine/wasmtest"
	"github.com/parley-wasm/parley/host/internal/module"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/sqlite"
)

// build returns a plugin that writes states of the version state, resumes states from
// the version oldest on, and answers each call with its own version.
func build(version string, state, oldest int) []byte { return buildWith(version, state, oldest, nil) }

func buildWith(version string, state, oldest int, call []byte) []byte {
	m := wasmtest.Plugin(wasmtest.Code(call, wasmtest.SetOutput(version), wasmtest.I32(0)))
	m.Funcs[0].Body = wasmtest.Code(wasmtest.SetOutput(fmt.Sprintf(`{"abi":1,"name":"p","version":%q,"stateVersion":%d,"resumes":[%d,%d],"capabilities":[],`+
		`"tools":[{"name":"t","description":"","inputSchema":{"type":"object"},"outputSchema":{"type":"object"},"readOnly":true,"needs":[]}]}`, version, state, oldest, state)), wasmtest.I32(0))
	return m.Encode()
}

// fixture is a store and the registry that is open on it.
type fixture struct {
	*testing.T
	db       *sqlite.DB
	engine   *engine.Engine
	policy   module.Policy
	verify   func(context.Context, *module.Version) (*module.Verified, error)
	builtIn  []byte
	parked   []string // digests of the modules whose flows were parked
	notified []string // versions of which Changed was notified, with * after a rollback
	*module.Registry
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	w := &fixture{T: t, policy: module.Policy{TrialFailures: 2, TrialSteps: 5, MaxPinned: 2}}
	var err error
	if w.db, err = sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "parley.db"), nil); err != nil {
		t.Fatal(err)
	}
	if w.engine, err = engine.New(t.Context(), &engine.Options{Logger: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.closeRegistry()
		if err := errors.Join(w.engine.Close(context.Background()), w.db.Close()); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *fixture) closeRegistry() {
	if w.Registry != nil {
		if err := w.Registry.Close(context.Background()); err != nil {
			w.Error(err)
		}
		w.Registry = nil
	}
}

// open closes the registry and opens another one with this module, as a restart of the
// program does.
func (w *fixture) open(wasm []byte, origin string) {
	w.Helper()
	w.closeRegistry()
	r, err := module.Open(w.Context(), &module.Options{
		Engine: w.engine, Store: w.db, Policy: func() *module.Policy { return &w.policy }, BuiltIn: w.builtIn,
		Verify: func(ctx context.Context, v *module.Version, _ *module.File) (*module.Verified, error) {
			if w.verify == nil {
				return nil, nil
			}
			return w.verify(ctx, v)
		},
		Changed: func(now *module.Version, rolledBack bool) {
			suffix := ""
			if rolledBack {
				suffix = "*"
			}
			w.notified = append(w.notified, now.About.Version+suffix)
		},
		Park: func(ctx context.Context, digest, reason string, inTx func(store.Tx) error) (int, error) {
			w.parked = append(w.parked, digest)
			return 1, w.db.Update(ctx, inTx)
		},
		Logger: slog.New(slog.DiscardHandler), Now: time.Now,
	}, &module.File{Wasm: wasm, Origin: origin})
	if err != nil {
		w.Fatal(err)
	}
	w.Registry = r
}

func (w *fixture) swap(wasm []byte) *module.Change {
	w.Helper()
	c, err := w.Swap(w.Context(), &module.File{Wasm: wasm, Origin: "test"})
	if err != nil {
		w.Fatal(err)
	}
	return c
}

// flow stores a flow whose state this module wrote. The flow is waiting, or has ended
// if ended is not zero.
func (w *fixture) flow(id string, wasm []byte, version string, state int, ended int64) *store.Flow {
	w.Helper()
	f := &store.Flow{ID: id, Module: module.Digest(wasm), Plugin: "p " + version, StateVersion: state, Status: store.FlowWaiting, AcceptedAt: 1, EndedAt: ended}
	if err := w.db.Update(w.Context(), func(tx store.Tx) error { return tx.PutFlow(f) }); err != nil {
		w.Fatal(err)
	}
	return f
}

// checkVersion checks which version answers a call, and releases it.
func (w *fixture) checkVersion(v *module.Version, want string) {
	w.Helper()
	defer v.Release()
	out, err := v.Run(w.Context(), abi.ExportCall, nil, nil)
	if err != nil || string(out) != want {
		w.Errorf("version %s answers %q, %v; want %s", v, out, err, want)
	}
}

// resumer returns the version that resumes a flow, or the text of the error.
func (w *fixture) resumer(f *store.Flow) string {
	w.Helper()
	v, err := w.UseFor(w.Context(), f)
	if err != nil {
		return err.Error()
	}
	defer v.Release()
	return v.About.Version
}

func (w *fixture) loaded() string {
	var all []string
	for _, v := range w.Loaded() {
		all = append(all, v.About.Version)
	}
	return strings.Join(all, " ")
}

// history returns the activations, newest first.
func (w *fixture) history() string {
	w.Helper()
	view, err := w.db.View(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	defer view.Close()
	all, err := view.Activations(w.Context(), 20)
	if err != nil {
		w.Fatal(err)
	}
	var lines []string
	for _, a := range all {
		m, err := view.Module(w.Context(), a.Digest)
		if err != nil || m == nil {
			w.Fatalf("module %s: %v, %v", a.Digest, m, err)
		}
		lines = append(lines, m.Version+" "+a.Origin)
	}
	return strings.Join(lines, ", ")
}
