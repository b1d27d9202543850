package sqlite

import (
	"os"
	"path/filepath"
	"testing"
)

// TestReplacedLockFile asserts that Acquire notices that the file which it has
// locked has been removed, or replaced by another, since it was opened.
func TestReplacedLockFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db.lock")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if !same(f, path) {
		t.Error("the file is not the one at its path")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if same(f, path) {
		t.Error("the removed file is the one at its path")
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if same(f, path) {
		t.Error("the replaced file is the one at its path")
	}
}
