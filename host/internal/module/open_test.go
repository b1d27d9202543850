package module_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/host/internal/module"
	"github.com/parley-wasm/parley/host/store"
)

// TestPins: flows whose state the new version cannot read stay with the old one,
// over restarts, until they have ended.
func TestPinnedVersions(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.policy.TrialFailures = 0
	one, two := build("1", 1, 1), build("2", 2, 2)
	w.open(one, store.OriginBuiltIn)
	older := w.flow("old", one, "1", 1, 0)
	if c := w.swap(two); c.Pinned != 1 {
		t.Errorf("the swap says %+v", c)
	}
	newer := w.flow("young", two, "2", 2, 0)
	check := func(when, loaded, resumer string) {
		t.Helper()
		if got := w.loaded() + "; " + w.resumer(older) + " " + w.resumer(newer); got != loaded+"; "+resumer {
			t.Errorf("%s: %s; want %s; %s", when, got, loaded, resumer)
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
	if got := w.resumer(stray); !strings.Contains(got, "nothing can go on with state version 9 of p 9: swap to a version that can") {
		t.Errorf("a state of nobody: %s", got)
	}
}

// TestStart: which version a program starts with.
func TestOpenSelectsVersion(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
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

// TestBackToBuiltIn: what came with the program can be gone back to where it has never
// served, needs no signature, and makes room for that of the next program.
func TestSwapToBuiltIn(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	one, mine := build("1", 1, 1), build("mine", 1, 1)
	w.builtIn = one
	w.open(mine, "/mine.wasm")
	w.policy.RequireSignature = true
	c, err := w.Swap(t.Context(), &module.Candidate{Digest: module.Digest(one), Origin: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.After.Signer(); got != store.OriginBuiltIn {
		t.Errorf("signed by %q", got)
	}
	if got := w.history(); got != "1 built in, mine /mine.wasm" {
		t.Errorf("the history is %s", got)
	}
	if bad := w.Unadmitted(); slices.Contains(bad, c.After) {
		t.Errorf("%s are not let in", bad)
	}
	w.builtIn = build("2", 1, 1)
	w.open(w.builtIn, store.OriginBuiltIn)
	w.checkVersion(w.Use(), "2")
}
