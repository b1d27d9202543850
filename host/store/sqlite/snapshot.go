package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

// snapshot is a read transaction on a connection of its own.
type snapshot struct {
	*conn
	db            *DB
	lastPartition int64
}

var _ store.Snapshot = (*snapshot)(nil)

// Snapshot opens a consistent view and waits for a free connection to do so.
func (db *DB) Snapshot(ctx context.Context) (store.Snapshot, error) { return db.View(ctx) }

func (db *DB) snapshot(ctx context.Context) (*snapshot, error) {
	c, err := db.readers.get(ctx)
	if err != nil {
		return nil, err
	}
	s := &snapshot{conn: c, db: db}
	if _, err = c.exec(ctx, beginRead); err == nil {
		// The first read is what fixes the view.
		_, err = c.row(ctx, lastPartition, nil, &s.lastPartition)
	}
	if err != nil {
		db.readers.put(c, false)
		return nil, db.wrap("open a snapshot", err)
	}
	return s, nil
}

// Close ends the read transaction. A second Close does nothing.
func (s *snapshot) Close() error {
	if s.conn == nil {
		return nil
	}
	c := s.conn
	s.conn = nil
	_, err := c.exec(context.Background(), endRead)
	s.db.readers.put(c, err == nil)
	return s.db.wrap("close a snapshot", err)
}

// stored is a session's row. Its order in lists is that of (recency, key).
type stored struct {
	recency    int64
	key        string
	data       string
	transcript int64
}

const (
	storedColumns = "recency, key, data, transcript_id"

	sessionByKey = fixed("SELECT " + storedColumns + " FROM sessions WHERE key = $1")
	sessionsByID = fixed("SELECT " + storedColumns + " FROM sessions WHERE session_id = $1 ORDER BY recency, key")
)

func (r *stored) columns() []any { return []any{&r.recency, &r.key, &r.data, &r.transcript} }

// Get returns the session with this canonical key, or nil.
func (s *snapshot) Get(ctx context.Context, key string) (*abi.Session, error) {
	var r stored
	found, err := s.row(ctx, sessionByKey, []any{key}, r.columns()...)
	if err != nil || !found {
		return nil, s.db.wrap("get", err)
	}
	session := decodeSession(r.data)
	return &session, nil
}

// Resolve returns the newest session with the sessionId within the scope, or nil.
func (s *snapshot) Resolve(ctx context.Context, r *abi.ResolveRequest) (*abi.Session, error) {
	found, err := s.resolve(ctx, r)
	return found, s.db.wrap("resolve", err)
}

func (s *snapshot) resolve(ctx context.Context, r *abi.ResolveRequest) (*abi.Session, error) {
	if r.SessionID == "" {
		return nil, nil
	}
	seen := newView(r.Scope, r.MainKey, r.Global)
	rows, err := s.query(ctx, sessionsByID, r.SessionID)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var row stored
		if err := rows.Scan(row.columns()...); err != nil {
			return nil, err
		}
		if session := decodeSession(row.data); seen.shows(&session) {
			return &session, nil
		}
	}
	return nil, rows.Err()
}

// wrap says what failed. Cancellation and the contract's own errors pass as they
// are.
func (db *DB) wrap(doing string, err error) error {
	var known *abi.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, errClosed):
		return err
	}
	if explained := explain(db.path, err); explained != err {
		return explained
	}
	return fmt.Errorf("sqlite: %s: %w", doing, err)
}
