//go:build unix

package sqlite

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/parley-wasm/parley/host/store"
)

// lock locks the open file. The kernel releases the lock when the file is closed or
// the process exits.
func lock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return store.ErrOwned
	}
	return err
}
