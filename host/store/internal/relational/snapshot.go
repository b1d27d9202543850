package relational

import (
	"context"

	"github.com/parley-wasm/parley/abi"
)

// Snapshot is a read transaction on its own connection. A backend embeds it and adds
// Close, which ends the transaction.
type Snapshot struct {
	conn          Conn
	db            *Database
	lastPartition int64
}

// Snapshot wraps the read transaction that has begun on c, and executes its first
// statement.
func (db *Database) Snapshot(ctx context.Context, c Conn) (Snapshot, error) {
	s := Snapshot{conn: c, db: db}
	_, err := c.Row(ctx, lastPartition, nil, &s.lastPartition)
	return s, err
}

// storedSession is a session's row as lists read it. Lists are ordered by (recency, key).
type storedSession struct {
	recency    int64
	key        string
	data       string
	transcript int64
}

const (
	storedColumns = "recency, key, data, transcript_id"

	sessionByKey = Fixed("SELECT " + storedColumns + " FROM sessions WHERE key = $1")
	sessionsByID = Fixed("SELECT " + storedColumns + " FROM sessions WHERE session_id = $1 ORDER BY recency, key")
)

func (r *storedSession) columns() []any { return []any{&r.recency, &r.key, &r.data, &r.transcript} }

// Get returns the session with this canonical key, or nil.
func (s *Snapshot) Get(ctx context.Context, key string) (*abi.Session, error) {
	var r storedSession
	found, err := s.conn.Row(ctx, sessionByKey, []any{key}, r.columns()...)
	if err != nil || !found {
		return nil, s.db.Wrap("get", err)
	}
	session := decodeSession(r.data)
	return &session, nil
}

// Resolve returns the newest session with the sessionId within the scope, or nil.
func (s *Snapshot) Resolve(ctx context.Context, r *abi.ResolveRequest) (*abi.Session, error) {
	found, err := s.resolve(ctx, r)
	return found, s.db.Wrap("resolve", err)
}

func (s *Snapshot) resolve(ctx context.Context, r *abi.ResolveRequest) (*abi.Session, error) {
	if r.SessionID == "" {
		return nil, nil
	}
	seen := newVisibility(r.Scope, r.MainKey, r.Global)
	rows, err := s.conn.Query(ctx, sessionsByID, r.SessionID)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var row storedSession
	columns := row.columns()
	for rows.Next() {
		if err := rows.Scan(columns...); err != nil {
			return nil, err
		}
		if session := decodeSession(row.data); seen.shows(&session) {
			return &session, nil
		}
	}
	return nil, rows.Err()
}
