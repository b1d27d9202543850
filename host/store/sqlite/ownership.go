package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/parley-wasm/parley/host/store"
)

// ownership is the lock file next to a database.
type ownership struct{ database string }

func (o ownership) CompanionPath(suffix string) string { return o.database + suffix }

func (o ownership) file() string { return o.CompanionPath(".lock") }

func (o ownership) Acquire(ctx context.Context) (store.HeldLock, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for {
		f, err := os.OpenFile(o.file(), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, fmt.Errorf("%s: cannot open the lock file: %w", o.database, err)
		}
		if err := lock(f); err != nil {
			f.Close()
			if errors.Is(err, store.ErrOwned) {
				return nil, fmt.Errorf("sqlite: %s: %w", o.database, err)
			}
			return nil, fmt.Errorf("%s: cannot lock the file (%w): put the database on a file system with locks", o.file(), err)
		}
		if sameFile(f, o.file()) {
			return &owned{file: f}, nil
		}
		f.Close() // the file was removed or replaced after it had been opened
	}
}

// sameFile reports whether path still names the open file.
func sameFile(f *os.File, path string) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Stat(path)
	return err == nil && os.SameFile(a, b)
}

// Notice does not test the lock: to do so it would have to take the lock, which could
// make a concurrent Acquire fail.
func (o ownership) Notice(ctx context.Context) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := os.Open(o.file())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: cannot read the lock file: %w", o.database, err)
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, store.MaxNotice))
}

// owned is the open lock file. Closing it releases the lock.
type owned struct {
	mu       sync.Mutex
	file     *os.File
	released bool
}

// Publish writes the file in place, because replacing the file would lose the lock.
func (o *owned) Publish(notice []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(notice) > store.MaxNotice {
		return fmt.Errorf("sqlite: %s: a notice of %d bytes is too long; the maximum is %d", o.file.Name(), len(notice), store.MaxNotice)
	}
	err := o.file.Truncate(0)
	if err == nil {
		_, err = o.file.WriteAt(notice, 0)
	}
	if err != nil {
		return fmt.Errorf("sqlite: %s: cannot write the lock file: %w", o.file.Name(), err)
	}
	return nil
}

func (o *owned) Release() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.released {
		return nil
	}
	o.released = true
	return errors.Join(o.file.Truncate(0), o.file.Close())
}
