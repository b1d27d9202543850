package hostiletest_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/host/internal/engine/hostiletest"
)

const dir = "../../../../testdata/hostile"

var update = flag.Bool("update", false, "compile the hostile plugins with wat2wasm and write their lock file")

// compiled is a module's entry in the lock file.
type compiled struct {
	Source string `json:"source"` // digest of the source text
	Wasm   string `json:"wasm"`   // digest of the compiled module
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// sources returns the source text of each module. A file that is not a complete module
// is combined with plugin.wat.
func sources(t *testing.T) map[string][]byte {
	t.Helper()
	common := read(t, "plugin.wat")
	files, err := filepath.Glob(filepath.Join(dir, "*.wat"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".wat")
		if name == "plugin" {
			continue
		}
		text := read(t, name+".wat")
		if !bytes.Contains(text, []byte("\n(module\n")) {
			text = slices.Concat([]byte("(module\n"), common, text, []byte(")\n"))
		}
		all[name] = text
	}
	return all
}

// TestCompiled checks that sources and modules match the lock file. With -update it
// compiles the sources and writes the lock file.
func TestCompiled(t *testing.T) {
	texts := sources(t)
	if *update {
		lock := map[string]compiled{}
		for name, text := range texts {
			wasm := compile(t, text)
			if err := os.WriteFile(filepath.Join(dir, name+".wasm"), wasm, 0o644); err != nil {
				t.Fatal(err)
			}
			lock[name] = compiled{digest(text), digest(wasm)}
		}
		doc, err := json.MarshalIndent(lock, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "lock.json"), append(doc, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	lock := map[string]compiled{}
	if err := json.Unmarshal(read(t, "lock.json"), &lock); err != nil {
		t.Fatal(err)
	}
	if want, got := slices.Sorted(maps.Keys(texts)), slices.Sorted(maps.Keys(lock)); !slices.Equal(want, got) {
		t.Errorf("the sources are %q, and the lock file has %q; run this test with -update", want, got)
	}
	for name, text := range texts {
		if got := (compiled{digest(text), digest(read(t, name+".wasm"))}); got != lock[name] {
			t.Errorf("%s: source and module are %+v, and the lock file has %+v; run this test with -update", name, got, lock[name])
		}
	}
}

// TestCompiledAgain compiles each source with wat2wasm and compares the result with the
// committed module.
func TestCompiledAgain(t *testing.T) {
	if _, err := exec.LookPath("wat2wasm"); err != nil && os.Getenv("CI") == "" {
		t.Skip("wat2wasm is not installed; it is in Debian's package wabt")
	}
	for name, text := range sources(t) {
		if !bytes.Equal(compile(t, text), read(t, name+".wasm")) {
			t.Errorf("%s.wasm differs from the compiled %s.wat; run TestCompiled with -update", name, name)
		}
	}
}

func compile(t *testing.T, text []byte) []byte {
	t.Helper()
	in, out := filepath.Join(t.TempDir(), "in.wat"), filepath.Join(t.TempDir(), "out.wasm")
	if err := os.WriteFile(in, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if problems, err := exec.Command("wat2wasm", in, "-o", out).CombinedOutput(); err != nil {
		t.Fatalf("wat2wasm: %v\n%s", err, problems)
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// TestComplete checks that every module has a case in cases.json and a line in
// README.md.
func TestComplete(t *testing.T) {
	var cases []string
	readme := string(read(t, "README.md"))
	for _, c := range hostiletest.Read(t, dir) {
		cases = append(cases, c.Name)
		if !strings.Contains(readme, "\n| `"+c.Name+"` | ") {
			t.Errorf("README.md has no line for %s", c.Name)
		}
	}
	if names := slices.Sorted(maps.Keys(sources(t))); !slices.Equal(names, cases) {
		t.Errorf("the modules are %q, and the cases %q", names, cases)
	}
}
