package sqlite

import (
	"context"

	"github.com/parley-wasm/parley/host/store"
)

// Load runs fn in one write transaction; other writers wait, readers do not. fn
// must not call Load or Update. What fn returns is returned as it is.
func (db *DB) Load(ctx context.Context, fn func(store.Batch) error) error {
	var refused error
	err := db.writer.transaction(ctx, func() error {
		b := newBatch(ctx, db)
		defer b.end()
		if refused = fn(b); refused != nil {
			return refused
		}
		return b.failed
	})
	if refused != nil {
		return refused
	}
	return db.wrap("load", err)
}

const (
	getMark = fixed("SELECT value FROM marks WHERE name = $1")
	setMark = fixed("INSERT INTO marks (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value")
)

// Mark returns the bookmark that Batch.SetMark left under this name, or "".
func (db *DB) Mark(ctx context.Context, name string) (value string, err error) {
	c, err := db.readers.get(ctx)
	if err != nil {
		return "", err
	}
	_, err = c.row(ctx, getMark, []any{name}, &value)
	db.readers.put(c, err == nil)
	return value, db.wrap("read mark "+name, err)
}
