package store

import (
	"context"
	"errors"
)

// Database is an open store with everything that a gateway needs. The caller that
// opened it must call Close.
type Database interface {
	Durable
	Loader
	Close() error
}

// Backend is a store of one kind at one location, open or not. It is safe for
// concurrent use, and nothing has to be closed.
type Backend interface {
	// Kind returns the name of the kind of store, such as "sqlite".
	Kind() string
	// Location names the store for users and other processes. It is the same for
	// every Backend of this store, and contains no secrets.
	Location() string
	// Open opens the store, and creates it if it does not exist. When Ownership
	// returns a lock, the caller must hold it until after it has closed the store.
	Open(ctx context.Context) (Database, error)
	// Ownership returns the lock for the process that owns the store, or nil when any
	// number of processes may have the store open.
	Ownership() Ownership
}

// ErrOwned is the error of Ownership.Acquire while the store has an owner.
var ErrOwned = errors.New("the store is owned by another process")

// MaxNotice is how many bytes a notice may have.
const MaxNotice = 64 << 10

// Ownership is the lock that the owner of a store holds: the one process that may
// open it. The owner can leave a notice there for the other processes, such as where
// it serves them. It is safe for concurrent use.
type Ownership interface {
	// Acquire takes the lock, or fails at once with ErrOwned. The lock is released
	// when the process ends, in whatever way.
	Acquire(ctx context.Context) (Owned, error)
	// Notice returns the notice that an owner published last, or nothing. An owner
	// that releases the lock removes its notice; one that was killed does not, so a
	// notice does not prove that there is an owner. While an owner publishes, Notice
	// may return nothing, or the beginning of the notice.
	Notice(ctx context.Context) ([]byte, error)
	// Beside returns the path of a file of the owner's beside the store, by the
	// suffix of its name, or "" if the store is not in a folder.
	Beside(suffix string) string
}

// Owned is the lock while this process holds it. It is safe for concurrent use.
type Owned interface {
	// Publish replaces the notice. It must have at most MaxNotice bytes.
	Publish(notice []byte) error
	// Release removes the notice and releases the lock. A second Release does
	// nothing.
	Release() error
}
