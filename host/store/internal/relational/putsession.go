package relational

import (
	"fmt"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host/store"
)

const (
	sessionForUpdate = Fixed(`SELECT s.id, coalesce(s.session_id, ''), s.transcript_id, s.data, coalesce(x.extra, '')
FROM sessions s LEFT JOIN session_extras x ON x.session = s.id WHERE s.key = $1`)

	insertSession = Fixed(`INSERT INTO sessions
(partition_id, kind, archived, rest, recency, session_id, label, spawned_by, transcript_id, data, search, key)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) RETURNING id`)

	updateSession = Fixed(`UPDATE sessions SET
partition_id = $1, kind = $2, archived = $3, rest = $4, recency = $5, session_id = $6, label = $7, spawned_by = $8,
transcript_id = $9, data = $10, search = $11 WHERE key = $12 RETURNING id`)

	putExtra    = Fixed("INSERT INTO session_extras (session, extra) VALUES ($1, $2) ON CONFLICT (session) DO UPDATE SET extra = excluded.extra")
	removeExtra = Fixed("DELETE FROM session_extras WHERE session = $1")
)

// PutSession inserts or updates the session by its key. It derives an empty AgentID or
// Kind from the key, and fails with abi.InvalidArgs if one contradicts the key.
func (b *Batch) PutSession(s *abi.Session, extra []byte) (store.Change, error) {
	if b.failed != nil {
		return store.Unchanged, b.failed
	}
	row, err := newSessionRow(s, extra)
	if err != nil {
		return store.Unchanged, err
	}
	change, err := b.putSession(row)
	return change, b.recordFailure("put session "+s.Key, err)
}

// sessionRow holds the column values of a session.
type sessionRow struct {
	abi.Session
	partition
	rest, data, extra string
	keepExtra         bool // keep the stored extra
}

func newSessionRow(s *abi.Session, extra []byte) (*sessionRow, error) {
	r := &sessionRow{Session: *s, extra: string(extra)}
	agentID, rest, ok := sessionkey.Split(s.Key)
	switch {
	case ok:
		if r.AgentID == "" {
			r.AgentID = agentID
		}
	case reserved(s.Key):
		rest, agentID = s.Key, r.AgentID
	default:
		return nil, abi.NewError(abi.InvalidArgs, fmt.Sprintf("session key %q is not canonical; write agent:<agentId>:<rest>", s.Key))
	}
	kind := sessionkey.Kind(s.Key)
	if r.Kind == "" {
		r.Kind = kind
	}
	if r.AgentID != agentID || r.Kind != kind {
		return nil, abi.NewError(abi.InvalidArgs, fmt.Sprintf("session %q has agent %q and kind %q, but its key requires %q and %q",
			s.Key, s.AgentID, s.Kind, agentID, kind))
	}
	r.rest = rest
	r.partition = partition{agentID: agentID, kind: kind, archived: s.ArchivedAt != 0}
	if reserved(s.Key) {
		r.partition.agentID, r.partition.kind = "", kindReserved
	}
	r.data = string(r.Session.AppendJSON(nil))
	return r, nil
}

func (b *Batch) putSession(r *sessionRow) (store.Change, error) {
	var id, transcript int64
	var sessionID, data, extra string
	known, err := b.conn.Row(b.ctx, locked{sessionForUpdate, "s"}, []any{r.Key}, &id, &sessionID, &transcript, &data, &extra)
	if err != nil {
		return store.Unchanged, err
	}
	if r.keepExtra {
		r.extra = extra
	}
	if known && data == r.data && extra == r.extra {
		return store.Unchanged, nil
	}
	if !known || sessionID != r.SessionID {
		delete(b.ends, r.Key)
		if transcript, err = b.findOrAdd(findTranscript, addTranscript, r.Key, r.SessionID); err != nil {
			return store.Unchanged, err
		}
	}
	partition, err := b.partition(r.partition)
	if err != nil {
		return store.Unchanged, err
	}
	change, put := store.Inserted, insertSession
	if known {
		change, put = store.Updated, updateSession
	}
	if !known || data != r.data {
		args := []any{partition, r.partition.kind, r.archived, r.rest, -r.UpdatedAt, orNull(r.SessionID), orNull(r.Label), orNull(r.SpawnedBy),
			transcript, r.data, searchText(&r.Session), r.Key}
		if _, err := b.conn.Row(b.ctx, put, args, &id); err != nil {
			return store.Unchanged, err
		}
	}
	switch {
	case extra == r.extra:
	case r.extra == "":
		err = b.conn.Exec(b.ctx, removeExtra, id)
	default:
		err = b.conn.Exec(b.ctx, putExtra, id, r.extra)
	}
	return change, err
}

// orNull returns the stored form of a text: an empty text is NULL, so that partial
// indexes omit it.
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}
