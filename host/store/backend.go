package store

import (
	"context"
	"errors"
)

// Database is an open store with all operations that a gateway needs. The caller that
// opened it must call Close.
type Database interface {
	Durable
	Loader
	Close() error
}

// Backend is a store of one kind at one location, open or not. It is safe for
// concurrent use and needs no closing.
type Backend interface {
	// Kind returns the name of the kind of store, such as "sqlite".
	Kind() string
	// Location identifies the store to users and other processes. It is the same for
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

// MaxNotice is the maximum size of a notice in bytes.
const MaxNotice = 64 << 10

// Ownership is the lock of a store. The process that holds it is the owner of the
// store and the only one that may open it. The owner can publish a notice for other
// processes, such as the address that it serves. Ownership is safe for concurrent use.
type Ownership interface {
	// Acquire takes the lock, or fails at once with ErrOwned. The lock is released
	// when the process exits, even when it is killed.
	Acquire(ctx context.Context) (HeldLock, error)
	// Notice returns the last published notice, which may be empty. An owner that
	// releases the lock removes its notice. An owner that was killed does not, so a
	// notice does not prove that the store has an owner. While an owner publishes,
	// Notice may return an empty or incomplete notice.
	Notice(ctx context.Context) ([]byte, error)
	// CompanionPath returns the path that the owner may use for a file next to the store:
	// the store's path with this suffix, or "" if the store is not in a folder.
	CompanionPath(suffix string) string
}

// HeldLock is a lock that this process holds. It is safe for concurrent use.
type HeldLock interface {
	// Publish replaces the notice. A notice has at most MaxNotice bytes.
	Publish(notice []byte) error
	// Release removes the notice and releases the lock. A second Release does
	// nothing.
	Release() error
}
