package sqlite

import (
	"context"
	"errors"

	"github.com/parley-wasm/parley/host/store"
)

// batch is a write transaction, or a savepoint in one, and what it has looked up
// so far.
type batch struct {
	*conn
	db         *DB
	ctx        context.Context
	partitions map[partition]int64 // by all but id
	ends       map[string]*end     // by session key
	failed     error               // what a statement answered; the transaction must not be committed
}

var _ store.Batch = (*batch)(nil)

// end is where a session's transcript ends.
type end struct {
	transcript   int64
	seq, ordinal int64 // ids, as in the table
}

func newBatch(ctx context.Context, db *DB) *batch {
	return &batch{conn: db.writer.conn, db: db, ctx: ctx, partitions: make(map[partition]int64), ends: make(map[string]*end)}
}

var errEnded = errors.New("sqlite: the transaction was used after it had ended")

func (b *batch) end() { b.conn, b.failed = nil, errEnded }

// keep remembers the first failure of a statement, whatever the caller of a put
// makes of it: half of a put must not be committed.
func (b *batch) keep(doing string, err error) error {
	if err != nil && b.failed == nil {
		b.failed = b.db.wrap(doing, err)
	}
	return b.failed
}

// SetMark leaves a bookmark.
func (b *batch) SetMark(name, value string) error {
	if b.failed != nil {
		return b.failed
	}
	_, err := b.exec(b.ctx, setMark, name, value)
	return b.keep("set mark "+name, err)
}

const (
	findPartition = fixed("SELECT id FROM partitions WHERE agent_id = $1 AND kind = $2 AND archived = $3")
	addPartition  = fixed("INSERT INTO partitions (agent_id, kind, archived) VALUES ($1, $2, $3) RETURNING id")

	findTranscript = fixed("SELECT id FROM transcripts WHERE session_key = $1 AND session_id = $2")
	addTranscript  = fixed("INSERT INTO transcripts (session_key, session_id) VALUES ($1, $2) RETURNING id")
)

// partition returns the partition's id and makes it if need be.
func (b *batch) partition(p partition) (int64, error) {
	id, known := b.partitions[p]
	if known {
		return id, nil
	}
	id, err := b.findOrAdd(findPartition, addPartition, p.agentID, p.kind, p.archived)
	if err == nil {
		b.partitions[p] = id
	}
	return id, err
}

func (b *batch) findOrAdd(find, add fixed, args ...any) (id int64, err error) {
	found, err := b.row(b.ctx, find, args, &id)
	if err == nil && !found {
		_, err = b.row(b.ctx, add, args, &id)
	}
	return id, err
}
