package sqlite_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/sqlite"
	"github.com/parley-wasm/parley/host/store/storetest"
)

func backendAt(location string) (store.Backend, error) {
	b, err := sqlite.NewBackend(location, nil)
	if err != nil {
		return nil, err
	}
	return b, nil
}

func TestBackend(t *testing.T) {
	storetest.ExerciseBackend(t, storetest.Backends{
		New: func(t *testing.T) string { return filepath.Join(t.TempDir(), "parley.db") },
		At:  backendAt,
	})
}

// TestLockIsSharedByAllPaths locks an existing and a missing database under one path and
// names it by others: through links to the file and to its folder, and relative to the
// working directory.
func TestLockIsSharedByAllPaths(t *testing.T) {
	for _, exists := range []bool{false, true} {
		dir := t.TempDir()
		folder, link := filepath.Join(dir, "deep", "folder"), filepath.Join(dir, "link")
		path, alias := filepath.Join(folder, "a.db"), filepath.Join(dir, "deep", "alias.db")
		again := filepath.Join(dir, "again.db")
		if err := errors.Join(os.MkdirAll(folder, 0o700), os.Symlink(folder, link),
			os.Symlink(path, alias), os.Symlink("link/../alias.db", again)); err != nil {
			t.Fatal(err)
		}
		spellings := []string{path, filepath.Join(link, "a.db"), "a.db", "./x/../a.db", alias, again}
		if exists {
			if err := open(t, path).Close(); err != nil {
				t.Fatal(err)
			}
		}
		t.Chdir(folder)
		b, err := sqlite.NewBackend(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		owned, err := b.Ownership().Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, spelling := range spellings {
			other, err := sqlite.NewBackend(spelling, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, err = other.Ownership().Acquire(t.Context())
			if other.Location() != b.Location() || !errors.Is(err, store.ErrOwned) || !strings.Contains(err.Error(), b.Location()) {
				t.Errorf("%s is %s: %v; want ErrOwned of %s", spelling, other.Location(), err, b.Location())
			}
		}
		if err := owned.Release(); err != nil {
			t.Error(err)
		}
	}
}

func TestBackendRefuses(t *testing.T) {
	dir := t.TempDir()
	circle, dangling := filepath.Join(dir, "circle.db"), filepath.Join(dir, "dangling.db")
	if err := errors.Join(os.Symlink("circle.db", circle), os.Symlink(filepath.Join("absent", "a.db"), dangling)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "absent", "a.db"): "does not exist: create it",
		dir:                                  "is not a regular file",
		os.DevNull:                           "is not a regular file",
		circle:                               "links in a row",
		dangling:                             "does not exist: create it",
	} {
		if _, err := sqlite.NewBackend(path, nil); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v; want an error that contains %q", path, err, want)
		}
	}
	if _, err := sqlite.NewBackend(filepath.Join(dir, "a.db"), &sqlite.Options{Readers: -1}); err == nil {
		t.Error("a backend with -1 readers was created")
	}
	file := filepath.Join(dir, "other.db")
	if err := os.WriteFile(file, []byte(strings.Repeat("This is not a database. ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := sqlite.NewBackend(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	if db, err := b.Open(context.Background()); err == nil || db != nil {
		t.Errorf("opened %v, %v", db, err)
	}
}

// TestLockFile asserts that the lock file is private, and is not removed when the lock
// is released: otherwise two processes could lock two files with the same name.
func TestLockFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	b, err := sqlite.NewBackend(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	owned, err := b.Ownership().Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	locked, err := os.Stat(path + ".lock")
	if err != nil || locked.Mode() != 0o600 {
		t.Fatalf("the lock file: %v, %v", locked, err)
	}
	if err := owned.Release(); err != nil {
		t.Error(err)
	}
	if released, err := os.Stat(path + ".lock"); err != nil || !os.SameFile(locked, released) {
		t.Errorf("after the release, the lock file is %v, %v; want the same file", released, err)
	}
}
