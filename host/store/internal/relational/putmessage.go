package relational

import (
	"fmt"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonobject"
	"github.com/parley-wasm/parley/host/internal/message"
	"github.com/parley-wasm/parley/host/store"
)

const (
	insertMessage = Fixed(`INSERT INTO messages (id, transcript_id, source_id, role, tool_result, ordinal, at, cut, body, run_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (transcript_id, source_id) WHERE source_id IS NOT NULL DO NOTHING`)

	// The stored message with the same source id, and whether it is equal.
	messageForUpdate = Fixed(`SELECT m.id, m.tool_result, m.role = $3 AND m.at = $4 AND coalesce(r.raw, m.body) = $5 AND coalesce(m.run_id, '') = $6
FROM messages m LEFT JOIN message_raws r ON r.message = m.id WHERE m.transcript_id = $1 AND m.source_id = $2`)

	updateMessage = Fixed("UPDATE messages SET role = $1, tool_result = $2, at = $3, cut = $4, body = $5, run_id = $6 WHERE id = $7")

	// Renumbers the message that became, or ceased to be, a tool result, and all
	// messages after it.
	shiftOrdinals = Fixed("UPDATE messages SET ordinal = ordinal + $1 WHERE id >= $2 AND id <= $3")

	putRaw = Fixed("INSERT INTO message_raws (message, raw) VALUES ($1, $2) ON CONFLICT (message) DO UPDATE SET raw = excluded.raw")

	removeRaw = Fixed("DELETE FROM message_raws WHERE message = $1")
)

// PutMessage appends a message to the transcript of key, or updates the message with
// the same source id. It fails with abi.NotFound when the session is not stored.
func (b *Batch) PutMessage(key string, m *store.Message) (store.Change, error) {
	if b.failed != nil {
		return store.Unchanged, b.failed
	}
	if len(m.JSON) == 0 {
		return store.Unchanged, abi.NewError(abi.InvalidArgs, "a message for "+key+" has no JSON")
	}
	e, err := b.endOf(key)
	if err != nil {
		return store.Unchanged, b.recordFailure("put a message of "+key, err)
	}
	if e == nil {
		return store.Unchanged, abi.NewError(abi.NotFound, "session "+key+" is not stored; put it before its messages")
	}
	change, err := b.putMessage(e, newMessageRow(m))
	return change, b.recordFailure("put a message of "+key, err)
}

// messageRow holds the column values of a message.
type messageRow struct {
	*store.Message
	raw         string
	body        string
	truncations []abi.Truncation
}

func newMessageRow(m *store.Message) *messageRow {
	r := &messageRow{Message: m, raw: string(m.JSON)}
	r.body = r.raw
	if len(m.JSON) > abi.MaxString { // a shorter message has no string to truncate
		var short []byte
		if short, r.truncations = message.Shorten(m.JSON); len(r.truncations) > 0 {
			r.body = string(short)
		}
	}
	return r
}

// encodedTruncations returns the list of truncations as JSON, or NULL without
// truncations.
func (r *messageRow) encodedTruncations() any {
	if len(r.truncations) == 0 {
		return nil
	}
	return string(jsonobject.Items(&r.truncations).AppendJSON(nil))
}

// endOf returns the end of the transcript of key, or nil if the session is not stored.
func (b *Batch) endOf(key string) (*transcriptEnd, error) {
	if e := b.ends[key]; e != nil {
		return e, nil
	}
	e := &transcriptEnd{}
	found, err := b.conn.Row(b.ctx, locked{transcriptOf, "sessions"}, []any{key}, &e.transcript)
	if err != nil || !found {
		return nil, err
	}
	first := idOf(e.transcript, 0)
	found, err = b.conn.Row(b.ctx, newestOf, []any{first, idOf(e.transcript, maxSeq)}, &e.id, &e.ordinal)
	if err != nil {
		return nil, err
	}
	if !found {
		e.id, e.ordinal = first, first
	}
	b.ends[key] = e
	return e, nil
}

func (b *Batch) putMessage(e *transcriptEnd, r *messageRow) (store.Change, error) {
	if seqOf(e.id) == maxSeq {
		return store.Unchanged, fmt.Errorf("the transcript is full, it has %d messages", int64(maxSeq))
	}
	toolResult := store.IsToolResult(r.Role)
	id, ordinal := e.id+1, e.ordinal
	if !toolResult {
		ordinal++
	}
	inserted, err := b.conn.Put(b.ctx, insertMessage,
		id, e.transcript, orNull(r.SourceID), r.Role, toolResult, ordinal, r.At, r.encodedTruncations(), r.body, orNull(r.RunID))
	if err != nil {
		return store.Unchanged, err
	}
	if !inserted {
		return b.updateMessage(e, r)
	}
	e.id, e.ordinal = id, ordinal
	return store.Inserted, b.putRaw(id, r)
}

func (b *Batch) updateMessage(e *transcriptEnd, r *messageRow) (store.Change, error) {
	var id int64
	var was, same bool
	found, err := b.conn.Row(b.ctx, messageForUpdate, []any{e.transcript, r.SourceID, r.Role, r.At, r.raw, r.RunID}, &id, &was, &same)
	switch {
	case err != nil:
		return store.Unchanged, err
	case !found:
		return store.Unchanged, fmt.Errorf("the message %q conflicts with a stored one, but cannot be found", r.SourceID)
	case same:
		return store.Unchanged, nil
	}
	is := store.IsToolResult(r.Role)
	if err := b.conn.Exec(b.ctx, updateMessage, r.Role, is, r.At, r.encodedTruncations(), r.body, orNull(r.RunID), id); err != nil {
		return store.Unchanged, err
	}
	if was != is {
		shift := int64(1)
		if is {
			shift = -1
		}
		if err := b.conn.Exec(b.ctx, shiftOrdinals, shift, id, e.id); err != nil {
			return store.Unchanged, err
		}
		e.ordinal += shift
	}
	if len(r.truncations) == 0 {
		return store.Updated, b.conn.Exec(b.ctx, removeRaw, id)
	}
	return store.Updated, b.putRaw(id, r)
}

// putRaw stores the raw form of a message whose body is shortened.
func (b *Batch) putRaw(id int64, r *messageRow) error {
	if len(r.truncations) == 0 {
		return nil
	}
	return b.conn.Exec(b.ctx, putRaw, id, r.raw)
}
