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

var update = flag.Bool("update", false, "compile the hostile plugins with wat2wasm, and write their lock file")

// compiled is what the lock file says of a module.
type compiled struct {
	Source string `json:"source"` // digest of the text that was compiled
	Wasm   string `json:"wasm"`   // digest of what came of it
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

// sources returns the text of each module: a file that is none by itself goes with
// plugin.wat.
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

// TestCompiled checks that each module is what came of its text when the lock file
// was written, and, where wat2wasm is at hand, what comes of it now.
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
		t.Errorf("there are texts of %q, and the lock file has %q; run this test with -update", want, got)
	}
	for name, text := range texts {
		if got := (compiled{digest(text), digest(read(t, name+".wasm"))}); got != lock[name] {
			t.Errorf("%s: text and module are %+v, and the lock file has %+v; run this test with -update", name, got, lock[name])
		}
	}
}

// TestCompiledAgain compares each module with what wat2wasm makes of its text.
func TestCompiledAgain(t *testing.T) {
	if _, err := exec.LookPath("wat2wasm"); err != nil && os.Getenv("CI") == "" {
		t.Skip("wat2wasm is not installed; it is in Debian's package wabt")
	}
	for name, text := range sources(t) {
		if !bytes.Equal(compile(t, text), read(t, name+".wasm")) {
			t.Errorf("%s.wasm is not what comes of %s.wat; run TestCompiled with -update", name, name)
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

// TestComplete checks that every module has a case, and a line in the README.
func TestComplete(t *testing.T) {
	var cases []string
	readme := string(read(t, "README.md"))
	for _, c := range hostiletest.Read(t, dir) {
		cases = append(cases, c.Name)
		if !strings.Contains(readme, "\n| `"+c.Name+"` | ") {
			t.Errorf("the README does not say what %s tries", c.Name)
		}
	}
	if names := slices.Sorted(maps.Keys(sources(t))); !slices.Equal(names, cases) {
		t.Errorf("there are the modules %q, and cases of %q", names, cases)
	}
}
