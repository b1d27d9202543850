package importer

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-wasm/parley/abi/jsonstrict"
)

// TestDemo imports testdata/openclaw, which has an example of most problems, and
// compares the stored records and the report with golden files.
func TestDemo(t *testing.T) {
	abs, err := filepath.Abs(demo)
	if err != nil {
		t.Fatal(err)
	}
	m := newMemory()
	r := mustImport(t, demo, m)
	js, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "demo.report.json", string(js)+"\n")
	golden(t, "demo.sessions.txt", m.dump(abs))
	var human strings.Builder
	if err := r.WriteSummary(&human, 3); err != nil {
		t.Fatal(err)
	}
	golden(t, "demo.report.txt", human.String())
	for key, s := range m.sessions {
		if err := jsonstrict.Check([]byte(s.Extra)); err != nil && s.Extra != "" {
			t.Errorf("extra of %s is not strict: %v", key, err)
		}
		for _, msg := range s.Messages {
			if err := jsonstrict.Check(msg.JSON); err != nil {
				t.Errorf("message %s of %s is not strict: %v", msg.SourceID, key, err)
			}
		}
	}
}

// TestSourceUnchanged imports from a read-only directory and compares its contents,
// including file times, before and after.
func TestSourceUnchanged(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(demo)); err != nil {
		t.Fatal(err)
	}
	chmod := func(files, dirs fs.FileMode) {
		err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if e.IsDir() {
				return os.Chmod(name, dirs)
			}
			return os.Chmod(name, files)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	chmod(0o444, 0o555)
	t.Cleanup(func() { chmod(0o666, 0o777) })
	before := tree(t, dir)
	mustImport(t, dir, newMemory())
	if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
		t.Errorf("the source changed (-before +after):\n%s", diff)
	}
}

// tree describes every file below dir, with its content and times.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		text := ""
		if !e.IsDir() {
			b, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			text = string(b)
		}
		all[name] = info.Mode().String() + info.ModTime().String() + text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestDemoReadme checks that the demo's README mentions every file.
func TestDemoReadme(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(demo, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	err = fs.WalkDir(os.DirFS(demo), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && name != "README.md" && !strings.Contains(string(readme), "`"+name+"`") {
			t.Errorf("README.md does not name %s", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
