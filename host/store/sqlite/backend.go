package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/parley-wasm/parley/host/store"
)

// Kind is the result of Backend.Kind.
const Kind = "sqlite"

// Backend is the store in one SQLite file (store.Backend).
type Backend struct {
	path    string // absolute, links resolved
	options Options
}

var _ store.Backend = (*Backend)(nil)

// NewBackend returns the store in the file at path. The file need not exist, but its
// folder must. NewBackend resolves links, so that all paths of a file lead to the same
// lock.
func NewBackend(path string, o *Options) (*Backend, error) {
	options, err := o.validate()
	if err != nil {
		return nil, err
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("sqlite: %s: %w", path, err)
	}
	resolved, err := resolve(absolute)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(resolved); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: is not a regular file: name the database file", absolute)
	}
	return &Backend{path: resolved, options: options}, nil
}

// maxLinks is the maximum length of a chain of links that resolve follows.
const maxLinks = 40

// resolve returns the path of the file that SQLite would open or create at path, with
// all links resolved. It also resolves a link to a file that does not exist yet:
// SQLite creates the target of the link.
func resolve(path string) (string, error) {
	at := path
	for range maxLinks {
		folder, name := filepath.Split(at) // not Dir: "link/.." is the parent of the link's target
		dir, err := filepath.EvalSymlinks(folder)
		if errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("%s: the directory %s does not exist: create it, or name another file", path, filepath.Clean(folder))
		}
		if err != nil {
			return "", fmt.Errorf("sqlite: %w", err)
		}
		file := filepath.Join(dir, name)
		target, err := os.Readlink(file)
		if err != nil {
			return file, nil // not a link, or the file does not exist
		}
		if at = target; !filepath.IsAbs(target) {
			at = dir + string(filepath.Separator) + target
		}
	}
	return "", fmt.Errorf("%s: more than %d symbolic links in a row: name the database file", path, maxLinks)
}

// Kind returns "sqlite".
func (b *Backend) Kind() string { return Kind }

// Location returns the path of the database: absolute, with links resolved.
func (b *Backend) Location() string { return b.path }

// Open calls the function Open with the backend's path and options.
func (b *Backend) Open(ctx context.Context) (store.Database, error) {
	db, err := Open(ctx, b.path, &b.options)
	if err != nil {
		return nil, err // a nil *DB would be a Database that is not nil
	}
	return db, nil
}

// Ownership returns a lock on the file <database>.lock, which contains the notice. The
// file is never removed: otherwise two processes could lock two files with the same
// name.
func (b *Backend) Ownership() store.Ownership { return ownership{b.path} }
