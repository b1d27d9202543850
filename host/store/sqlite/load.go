package sqlite

import (
	"context"
	"database/sql"

	"github.com/parley-wasm/parley/host/store"
)

// writer is the one connection that writes, one transaction at a time.
type writer struct {
	*conn // nil when the database is closed
	turn  chan struct{}
}

func newWriter(ctx context.Context, db *sql.DB) (*writer, error) {
	c, err := newConn(ctx, db)
	if err != nil {
		return nil, err
	}
	w := &writer{c, make(chan struct{}, 1)}
	// A file that may only be read is noticed by writing nothing to it.
	return w, w.transaction(ctx, func() error { return nil })
}

// transaction runs fn between BEGIN IMMEDIATE and COMMIT. An error or a panic
// rolls back.
func (w *writer) transaction(ctx context.Context, fn func() error) (err error) {
	select {
	case w.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-w.turn }()
	if w.conn == nil {
		return errClosed
	}
	if _, err := w.exec(ctx, beginWrite); err != nil {
		return err
	}
	committed := false
	defer func() {
		if !committed {
			// It fails when SQLite has rolled back by itself, as on a full disk.
			_, _ = w.exec(context.Background(), rollback)
		}
	}()
	if err := fn(); err != nil {
		return err
	}
	if _, err := w.exec(ctx, commit); err != nil {
		return err
	}
	committed = true
	return nil
}

// close waits for the transaction that runs.
func (w *writer) close() error {
	w.turn <- struct{}{}
	defer func() { <-w.turn }()
	if w.conn == nil {
		return nil
	}
	c := w.conn
	w.conn = nil
	return c.close()
}

// Load runs fn in one write transaction; other Loads wait, readers do not. fn
// must not call Load. What fn returns is returned as it is.
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
