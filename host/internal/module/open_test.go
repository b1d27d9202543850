package module_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/host/internal/module"
	"github.com/parley-wasm/parley/host/store"
)

// TestPinnedVersions checks that the old version resumes the flows whose state the new
// version cannot read, also after a restart, until these flows have ended.
func TestPinnedVersions(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.policy.TrialFailures = 0
	one, two := build("1", 1, 1), build("2", 2, 2)
	w.open(one, store.OriginBuiltIn)
	older := w.flow("older", one, "1", 1, 0)
	if c := w.swap(two); c.Pinned != 1 {
		t.Errorf("the swap returned %+v", c)
	}
	newer := w.flow("newer", two, "2", 2, 0)
	check := func(when, loaded, resumer string) {
		t.Helper()
		if got := w.loaded() + "; " + w.resumer(older) + " " + w.resumer(newer); got != loaded+"; "+resumer {
			t.Errorf("%s: %s; want %s; %s", when, got, loaded, resumer)
		}
	}
	check("after the swap", "2 1", "1 2")
	w.open(one, store.OriginBuiltIn)
	check("after a restart", "2 1", "1 2")
	w.swap(build("3", 3, 1)) // reads all states
	check("with a version that reads all states", "3", "3 3")
	w.swap(two)
	check("with the old version again", "2 3", "3 2") // version 3 is loaded and can resume the older flow, so version 1 is not loaded
	w.flow("older", one, "1", 1, 7)
	if err := w.Tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := w.loaded(); got != "2" {
		t.Errorf("after the flow has ended, %s are loaded", got)
	}
	// Another process may have swapped on the same store.
	w.flow("older", one, "1", 1, 0)
	check("a version that is not loaded", "2", "1 2")
	stray := &store.Flow{Plugin: "p 9", StateVersion: 9}
	if got := w.resumer(stray); !strings.Contains(got, "no version can resume state version 9 of p 9: swap to a version that can") {
		t.Errorf("a state that no version can read: %s", got)
	}
}

// TestOpenSelectsVersion checks which version a starting program activates.
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
		{"a given file", mine, "/mine.wasm", "mine"},
		{"without the file", two, store.OriginBuiltIn, "mine"},
		{"a newer program", build("3", 1, 1), store.OriginBuiltIn, "mine"},
		{"another file", one, "/one.wasm", "1"},
	} {
		w.open(tt.wasm, tt.origin)
		if got := w.Active().About.Version; got != tt.want {
			t.Errorf("%s: %s is active, want %s", tt.about, got, tt.want)
		}
	}
	if got := w.history(); got != "1 /one.wasm, mine /mine.wasm, 2 built in, 1 built in" {
		t.Errorf("the history is %s", got)
	}
}

// TestSwapToBuiltIn checks that Swap activates the built-in module although it has
// never been active and is not signed, and that the built-in module of the next program
// replaces it.
func TestSwapToBuiltIn(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	one, mine := build("1", 1, 1), build("mine", 1, 1)
	w.builtIn = one
	w.open(mine, "/mine.wasm")
	w.policy.RequireSignature = true
	c, err := w.Swap(t.Context(), &module.File{Digest: module.Digest(one), Origin: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.After.Signer(); got != store.OriginBuiltIn {
		t.Errorf("signed by %q", got)
	}
	if got := w.history(); got != "1 built in, mine /mine.wasm" {
		t.Errorf("the history is %s", got)
	}
	if bad := w.NotAdmitted(); slices.Contains(bad, c.After) {
		t.Errorf("not admitted: %s", bad)
	}
	w.builtIn = build("2", 1, 1)
	w.open(w.builtIn, store.OriginBuiltIn)
	w.checkVersion(w.Use(), "2")
}
