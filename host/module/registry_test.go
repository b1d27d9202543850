package module_test

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/engine"
	"github.com/parley-wasm/parley/host/engine/wasmtest"
	"github.com/parley-wasm/parley/host/module"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/sqlite"
)

// build is a plugin that writes states of one version and reads some, and answers
// with its own version.
func build(version string, state, oldest int) []byte { return buildWith(version, state, oldest, nil) }

func buildWith(version string, state, oldest int, call []byte) []byte {
	m := wasmtest.Plugin(wasmtest.Code(call, wasmtest.Say(version), wasmtest.I32(0)))
	m.Funcs[0].Body = wasmtest.Code(wasmtest.Say(fmt.Sprintf(`{"abi":1,"name":"p","version":%q,"stateVersion":%d,"resumes":[%d,%d],`+
		`"tools":[{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"object"},"readOnly":true,"needs":[]}]}`, version, state, oldest, state)), wasmtest.I32(0))
	return m.Encode()
}

// world is a store, and registries on it one after the other.
type world struct {
	*testing.T
	db     *sqlite.DB
	engine *engine.Engine
	policy module.Policy
	verify func(context.Context, *module.Version) error
	parked []string // digests
	told   []string // versions, with * when rolled back
	*module.Registry
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, policy: module.Policy{TrialFailures: 2, TrialSteps: 5, MaxPinned: 2}}
	var err error
	if w.db, err = sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "parley.db"), nil); err != nil {
		t.Fatal(err)
	}
	if w.engine, err = engine.New(t.Context(), &engine.Options{Logger: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.end()
		if err := errors.Join(w.engine.Close(context.Background()), w.db.Close()); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) end() {
	if w.Registry != nil {
		if err := w.Registry.Close(context.Background()); err != nil {
			w.Error(err)
		}
		w.Registry = nil
	}
}

// open opens a registry, as a program that starts does.
func (w *world) open(wasm []byte, origin string) {
	w.Helper()
	w.end()
	r, err := module.Open(w.Context(), &module.Options{
		Engine: w.engine, Store: w.db, Policy: func() *module.Policy { return &w.policy },
		Verify: func(ctx context.Context, v *module.Version) error {
			if w.verify == nil {
				return nil
			}
			return w.verify(ctx, v)
		},
		Changed: func(now *module.Version, rolledBack bool) {
			mark := ""
			if rolledBack {
				mark = "*"
			}
			w.told = append(w.told, now.About.Version+mark)
		},
		Park: func(ctx context.Context, digest, reason string, also func(store.Tx) error) (int, error) {
			w.parked = append(w.parked, digest)
			return 1, w.db.Update(ctx, also)
		},
		Logger: slog.New(slog.DiscardHandler), Now: time.Now,
	}, &module.Candidate{Wasm: wasm, Origin: origin})
	if err != nil {
		w.Fatal(err)
	}
	w.Registry = r
}

func (w *world) swap(wasm []byte) *module.Change {
	w.Helper()
	c, err := w.Swap(w.Context(), &module.Candidate{Wasm: wasm, Origin: "test"})
	if err != nil {
		w.Fatal(err)
	}
	return c
}

// flow stores a flow that waits with a state of a module, or that has ended.
func (w *world) flow(id string, wasm []byte, version string, state int, ended int64) *store.Flow {
	w.Helper()
	f := &store.Flow{ID: id, Module: module.Digest(wasm), Plugin: "p " + version, StateVersion: state, Status: store.FlowWaiting, AcceptedAt: 1, EndedAt: ended}
	if err := w.db.Update(w.Context(), func(tx store.Tx) error { return tx.PutFlow(f) }); err != nil {
		w.Fatal(err)
	}
	return f
}

// serves calls a version, which answers with its own, and releases it.
func (w *world) serves(v *module.Version, want string) {
	w.Helper()
	defer v.Release()
	out, err := v.Run(w.Context(), abi.ExportCall, nil, nil)
	if err != nil || string(out) != want {
		w.Errorf("version %s answers %q, %v; want %s", v, out, err, want)
	}
}

// goesOn returns the version that goes on with a flow.
func (w *world) goesOn(f *store.Flow) string {
	w.Helper()
	v, err := w.UseFor(w.Context(), f)
	if err != nil {
		return err.Error()
	}
	defer v.Release()
	return v.About.Version
}

func (w *world) loaded() string {
	var all []string
	for _, v := range w.Loaded() {
		all = append(all, v.About.Version)
	}
	return strings.Join(all, " ")
}

// history returns what was active when, newest first.
func (w *world) history() string {
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

func TestSwap(t *testing.T) {
	w := newWorld(t)
	w.policy.TrialFailures = 0
	one, two := build("1", 1, 1), build("2", 1, 1)
	w.open(one, store.OriginBuiltIn)
	old := w.Use()
	c := w.swap(two)
	if c.Before != old || c.After.About.Version != "2" || c.Same || w.Active() != c.After {
		t.Errorf("the swap says %+v", c)
	}
	w.serves(w.Use(), "2")
	// A step under way ends where it began, and with it the old version.
	w.serves(old, "1")
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
	w.serves(w.Use(), "2")
	if got := fmt.Sprint(w.told); got != "[2]" {
		t.Errorf("told of %s", got)
	}
}

// Whatever is wrong with a candidate, the version before serves on.
func TestSwapRefused(t *testing.T) {
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
		c      module.Candidate
		policy module.Policy
		verify error
		want   error
		text   string
	}{
		{"no module", module.Candidate{Wasm: []byte("hello")}, module.Policy{}, nil, engine.NotAModule, "not a WebAssembly module"},
		{"start traps", module.Candidate{Wasm: starting(wasmtest.Unreachable)}, module.Policy{}, nil, engine.Trap, "start: trap"},
		{"start never ends", module.Candidate{Wasm: starting(wasmtest.Forever)}, module.Policy{}, nil, engine.Fuel, "limit: fuel"},
		{"no tools", module.Candidate{Wasm: wasmtest.Plugin(wasmtest.I32(0)).Encode()}, module.Policy{}, nil, abi.InvalidArgs, "offers no tools"},
		{"another file", module.Candidate{Wasm: good, Digest: "sha256:" + strings.Repeat("0", 64)}, module.Policy{}, nil, abi.InvalidArgs, "the file's digest is sha256:" + module.Digest(good)},
		{"unsigned", module.Candidate{Wasm: good}, module.Policy{RequireSignature: true}, nil, abi.Forbidden, "not signed"},
		{"signed by nobody", module.Candidate{Wasm: good, Signature: signature}, module.Policy{}, nil, abi.Forbidden, "has no key to check it with"},
		{"another signature", module.Candidate{Wasm: good, Signature: other}, module.Policy{Keys: []module.Key{{Name: "k", Public: public}}}, nil, abi.Forbidden, "none of the 1 keys"},
		{"a vector fails", module.Candidate{Wasm: good}, module.Policy{}, boom, boom, "a vector fails"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.open(build("1", 1, 1), store.OriginBuiltIn)
			w.policy = tt.policy
			w.verify = func(context.Context, *module.Version) error { return tt.verify }
			_, err := w.Swap(t.Context(), &tt.c)
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("got %v, want %v with %q", err, tt.want, tt.text)
			}
			w.serves(w.Use(), "1")
			if got := w.history() + "; " + w.loaded(); got != "1 built in; 1" {
				t.Errorf("the history is %s", got)
			}
		})
	}
}

func starting(body []byte) []byte {
	m := wasmtest.Plugin(wasmtest.I32(0))
	m.Start = wasmtest.OwnFuncs + len(m.Funcs)
	m.Funcs = append(m.Funcs, wasmtest.Func{Type: wasmtest.Void, Body: body})
	return m.Encode()
}

func TestSigned(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	w.policy.RequireSignature, w.policy.Keys = true, []module.Key{{Name: "release", Public: public}}
	one, two := build("1", 1, 1), build("2", 1, 1)
	w.open(one, store.OriginBuiltIn) // is trusted like the program it came with
	text := base64.StdEncoding.EncodeToString(ed25519.Sign(private, two)) + "\n"
	signature, err := module.ParseSignature([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Swap(t.Context(), &module.Candidate{Wasm: two, Signature: signature, Digest: module.Digest(two)}); err != nil {
		t.Fatal(err)
	}
	if v := w.Active(); !strings.HasPrefix(v.Signer(), "release ") {
		t.Errorf("signed by %q", v.Signer())
	}
	w.open(one, store.OriginBuiltIn)
	if v := w.Active(); v.About.Version != "2" || !strings.HasPrefix(v.Signer(), "release ") {
		t.Errorf("after a restart %s serves, signed by %q", v, v.Signer())
	}
	// Another key of the same name does not stand for the one that signed.
	other, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	w.policy.Keys = []module.Key{{Name: "release", Public: other}}
	w.open(one, store.OriginBuiltIn)
	if v := w.Active(); v.About.Version != "1" {
		t.Errorf("%s serves, whose key was replaced", v)
	}
	if _, err := module.ParseSignature([]byte("short")); !errors.Is(err, abi.InvalidArgs) {
		t.Errorf("a short signature: %v", err)
	}
}

// TestPins: flows whose state the new version cannot read stay with the old one,
// over restarts, until they have ended.
func TestPins(t *testing.T) {
	w := newWorld(t)
	w.policy.TrialFailures = 0
	one, two := build("1", 1, 1), build("2", 2, 2)
	w.open(one, store.OriginBuiltIn)
	old := w.flow("old", one, "1", 1, 0)
	if c := w.swap(two); c.Pinned != 1 {
		t.Errorf("the swap says %+v", c)
	}
	young := w.flow("young", two, "2", 2, 0)
	check := func(when, loaded, goesOn string) {
		t.Helper()
		if got := w.loaded() + "; " + w.goesOn(old) + " " + w.goesOn(young); got != loaded+"; "+goesOn {
			t.Errorf("%s: %s; want %s; %s", when, got, loaded, goesOn)
		}
	}
	check("after the swap", "2 1", "1 2")
	w.open(one, store.OriginBuiltIn)
	check("after a restart", "2 1", "1 2")
	w.swap(build("3", 3, 1)) // reads all
	check("with a version that reads all", "3", "3 3")
	w.swap(two)
	check("with the old version again", "2 3", "3 2") // what is loaded and can, does
	w.flow("old", one, "1", 1, 7)
	if err := w.Tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := w.loaded(); got != "2" {
		t.Errorf("when the flow has ended, %s are loaded", got)
	}
	// Another process may have swapped on the same store.
	w.flow("old", one, "1", 1, 0)
	check("a version that is not loaded", "2", "1 2")
	stray := &store.Flow{Plugin: "p 9", StateVersion: 9}
	if got := w.goesOn(stray); !strings.Contains(got, "nothing can go on with state version 9 of p 9: swap to a version that can") {
		t.Errorf("a state of nobody: %s", got)
	}
}

func TestTooManyPins(t *testing.T) {
	w := newWorld(t)
	w.policy.MaxPinned = 1
	w.policy.TrialFailures = 0
	all := [][]byte{build("1", 1, 1), build("2", 2, 2), build("3", 3, 3)}
	w.open(all[0], store.OriginBuiltIn)
	w.flow("a", all[0], "1", 1, 0)
	w.swap(all[1])
	w.flow("b", all[1], "2", 2, 0)
	_, err := w.Swap(t.Context(), &module.Candidate{Wasm: all[2]})
	if !errors.Is(err, abi.Conflict) || !strings.Contains(err.Error(), "2 flows that p 3") || w.Active().About.Version != "2" {
		t.Errorf("a second version to keep: %v", err)
	}
	if _, err := w.Swap(t.Context(), &module.Candidate{Wasm: all[2], Force: true}); err != nil {
		t.Error(err)
	}
	if got := w.loaded(); len(got) != len("3 1 2") {
		t.Errorf("%s are loaded", got)
	}
}

func TestRollback(t *testing.T) {
	w := newWorld(t)
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
	w.serves(w.Use(), "1")
	if got := w.history(); got != "1 rollback, 2 test, 1 built in" {
		t.Errorf("the history is %s", got)
	}
	if fmt.Sprint(w.told) != "[2 1*]" || len(w.parked) != 1 || w.parked[0] != module.Digest(bad) {
		t.Errorf("told of %s, parked the flows of %s", w.told, w.parked)
	}
	w.open(one, store.OriginBuiltIn)
	w.serves(w.Use(), "1")
}

// A version whose trial is over stays, whatever it does, and so does one that fails
// too rarely.
func TestTrialEnds(t *testing.T) {
	w := newWorld(t)
	// It traps on any input.
	w.open(build("1", 1, 1), store.OriginBuiltIn)
	w.swap(buildWith("2", 1, 1, wasmtest.Code(wasmtest.Call(wasmtest.InputLength), []byte{0x50, 0x45, 0x04, 0x40}, wasmtest.Unreachable, []byte{0x0b})))
	v := w.Use()
	for _, input := range []string{"trap", "", "", "", "", "trap", "trap", "trap"} {
		_, _ = v.Run(t.Context(), abi.ExportCall, []byte(input), nil)
	}
	v.Release()
	w.Wait()
	w.serves(w.Use(), "2")
	if err := w.Tidy(t.Context()); err != nil || w.loaded() != "2" {
		t.Errorf("%s are loaded, %v", w.loaded(), err)
	}
}

// TestStart: which version a program starts with.
func TestStart(t *testing.T) {
	w := newWorld(t)
	one, two, mine := build("1", 1, 1), build("2", 1, 1), build("mine", 1, 1)
	for _, tt := range []struct {
		about  string
		wasm   []byte
		origin string
		want   string
	}{
		{"the first", one, store.OriginBuiltIn, "1"},
		{"the same", one, store.OriginBuiltIn, "1"},
		{"a new program", two, store.OriginBuiltIn, "2"},
		{"an old program", one, store.OriginBuiltIn, "2"},
		{"a file that somebody named", mine, "/mine.wasm", "mine"},
		{"without naming it", two, store.OriginBuiltIn, "mine"},
		{"a newer program", build("3", 1, 1), store.OriginBuiltIn, "mine"},
		{"another file", one, "/one.wasm", "1"},
	} {
		w.open(tt.wasm, tt.origin)
		if got := w.Active().About.Version; got != tt.want {
			t.Errorf("%s: %s serves, want %s", tt.about, got, tt.want)
		}
	}
	if got := w.history(); got != "1 /one.wasm, mine /mine.wasm, 2 built in, 1 built in" {
		t.Errorf("the history is %s", got)
	}
}
