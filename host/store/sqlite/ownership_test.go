package sqlite

import (
	"os"
	"path/filepath"
	"testing"
)

// TestReplacedLockFile asserts that Acquire detects that the file that it has locked
// was removed or replaced after it was opened.
func TestReplacedLockFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db.lock")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if !sameFile(f, path) {
		t.Error("the path does not name the open file")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if sameFile(f, path) {
		t.Error("the path names the open file after it was removed")
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if sameFile(f, path) {
		t.Error("the path names the open file after it was replaced")
	}
}
