package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/parley-wasm/parley/host/store"
)

// Kind is what Backend.Kind returns.
const Kind = "sqlite"

// Backend is the store in one SQLite file (store.Backend).
type Backend struct {
	path    string // absolute, links resolved
	options Options
}

var _ store.Backend = (*Backend)(nil)

// NewBackend returns the store in the file at path, which need not exist; its
// folder must. Links are resolved, so that every spelling of the path leads to the
// same lock.
func NewBackend(path string, o *Options) (*Backend, error) {
	options, err := o.validate()
	if err != nil {
		return nil, err
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("sqlite: %s: %w", path, err)
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(absolute))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s: the directory %s does not exist: create it, or name another file", absolute, filepath.Dir(absolute))
	}
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	resolved := filepath.Join(dir, filepath.Base(absolute))
	if file, err := filepath.EvalSymlinks(resolved); err == nil {
		resolved = file
	}
	if info, err := os.Stat(resolved); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: is not a regular file: name the database file", absolute)
	}
	return &Backend{path: resolved, options: options}, nil
}

// Kind returns "sqlite".
func (b *Backend) Kind() string { return Kind }

// Location returns the path of the database: absolute, with links resolved.
func (b *Backend) Location() string { return b.path }

// Open is Open with the backend's path and options.
func (b *Backend) Open(ctx context.Context) (store.Database, error) {
	db, err := Open(ctx, b.path, &b.options)
	if err != nil {
		return nil, err // a nil *DB would be a Database that is not nil
	}
	return db, nil
}

// Ownership returns a lock on the file <database>.lock, which contains the notice.
// The file is never removed: two processes could otherwise lock two files of one
// name.
func (b *Backend) Ownership() store.Ownership { return ownership{b.path} }
