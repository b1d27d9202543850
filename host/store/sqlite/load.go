package sqlite

import (
	"context"

	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/internal/relational"
)

// Load runs fn in one write transaction. Other writers wait, readers do not. fn must
// not call Load or Update. An error of fn is returned unchanged.
func (db *DB) Load(ctx context.Context, fn func(store.Batch) error) error {
	var refused error
	err := db.writer.transaction(ctx, func() error {
		b := db.shared.Batch(ctx, db.writer.conn)
		defer b.End() // when fn panics
		if refused = fn(b); refused != nil {
			return refused
		}
		return b.End()
	})
	if refused != nil {
		return refused
	}
	return db.shared.Wrap("load", err)
}

// Bookmark returns the bookmark that Batch.SetBookmark stored under this name, or "".
func (db *DB) Bookmark(ctx context.Context, name string) (string, error) {
	c, err := db.readers.get(ctx)
	if err != nil {
		return "", err
	}
	value, err := relational.Bookmark(ctx, c, name)
	db.readers.put(c, err == nil)
	return value, db.shared.Wrap("read bookmark "+name, err)
}
