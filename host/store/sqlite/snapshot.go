package sqlite

import (
	"context"

	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/internal/relational"
)

// snapshot is a read transaction on its own connection.
type snapshot struct {
	relational.Snapshot
	db   *DB
	conn *conn // nil when the snapshot is closed
}

var _ store.View = (*snapshot)(nil)

// Snapshot opens a consistent view. It waits for a free connection.
func (db *DB) Snapshot(ctx context.Context) (store.Snapshot, error) { return db.View(ctx) }

// View opens a snapshot that also contains flows, runs and deliveries.
func (db *DB) View(ctx context.Context) (store.View, error) {
	c, err := db.readers.get(ctx)
	if err != nil {
		return nil, err
	}
	s := &snapshot{db: db, conn: c}
	if err = c.Exec(ctx, beginRead); err == nil {
		s.Snapshot, err = db.shared.Snapshot(ctx, c)
	}
	if err != nil {
		db.readers.put(c, false)
		return nil, db.shared.Wrap("open a snapshot", err)
	}
	return s, nil
}

// Close ends the read transaction. A second Close does nothing.
func (s *snapshot) Close() error {
	if s.conn == nil {
		return nil
	}
	c := s.conn
	s.conn, s.Snapshot = nil, relational.Snapshot{} // a later use panics
	err := c.Exec(context.Background(), endRead)
	s.db.readers.put(c, err == nil)
	return s.db.shared.Wrap("close a snapshot", err)
}
