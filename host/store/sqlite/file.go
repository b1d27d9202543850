package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// prepareFile ensures that path names a regular file. It creates a missing file with
// mode 0600. SQLite gives its side files the same mode.
//
// prepareFile does not open an existing file. POSIX locks belong to the process, so
// closing the file would release the locks that SQLite holds for another DB.
func prepareFile(path string) error {
	if path == "" || strings.ContainsRune(path, 0) {
		return fmt.Errorf("sqlite: %q is not a path; name a file for the database", path)
	}
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return createFile(path)
	case err != nil:
		return fmt.Errorf("sqlite: cannot use the database: %w", err)
	case info.IsDir():
		return fmt.Errorf("sqlite: %s is a folder; name a file for the database", path)
	case !info.Mode().IsRegular():
		return fmt.Errorf("sqlite: %s is not a regular file; name another for the database", path)
	case info.Size() == 1: // SQLite treats such a file as an empty database
		return fmt.Errorf("sqlite: %s is not a database; name another file, or move this one away", path)
	}
	return nil
}

func createFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("sqlite: cannot create the folder for %s, choose another one: %w", path, err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist): // another process created it first
		return nil
	case err != nil:
		return fmt.Errorf("sqlite: cannot write the database, check that you may write in its folder: %w", err)
	}
	return f.Close()
}
