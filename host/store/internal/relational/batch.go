package relational

import (
	"context"
	"errors"

	"github.com/parley-wasm/parley/host/store"
)

// Batch is a write transaction, or a savepoint in one, and what it has looked up
// so far. The first statement that fails ends it, whatever its user makes of the
// error: the database may have ended the transaction, and what followed would be
// committed by itself.
type Batch struct {
	db         *Database
	conn       Conn
	ctx        context.Context
	partitions map[partition]int64 // by all but id
	ends       map[string]*end     // by session key
	failed     error               // what a statement answered; the transaction must not be committed
}

var _ store.Batch = (*Batch)(nil)

// end is where a session's transcript ends.
type end struct {
	transcript   int64
	seq, ordinal int64 // ids, as in the table
}

// Batch returns the write transaction that has begun on c. The caller must call
// End before it ends the transaction.
func (db *Database) Batch(ctx context.Context, c Conn) *Batch {
	return &Batch{db: db, conn: c, ctx: ctx, partitions: make(map[partition]int64), ends: make(map[string]*end)}
}

var errEnded = errors.New("store: the transaction was used after it had ended")

// End lets every later use fail. It returns the error of the first statement that
// failed, if one did: the transaction, or the savepoint, must then be rolled back.
func (b *Batch) End() error {
	err := b.failed
	b.conn, b.failed = nil, errEnded
	return err
}

// keep remembers the first failure of a statement, whatever the caller of a put
// makes of it: half of a put must not be committed.
func (b *Batch) keep(doing string, err error) error {
	if err != nil && b.failed == nil {
		b.failed = b.db.Wrap(doing, err)
	}
	return b.failed
}

const (
	findPartition = Fixed("SELECT id FROM partitions WHERE agent_id = $1 AND kind = $2 AND archived = $3")
	addPartition  = Fixed("INSERT INTO partitions (agent_id, kind, archived) VALUES ($1, $2, $3) RETURNING id")

	findTranscript = Fixed("SELECT id FROM transcripts WHERE session_key = $1 AND session_id = $2")
	addTranscript  = Fixed("INSERT INTO transcripts (session_key, session_id) VALUES ($1, $2) RETURNING id")
)

// partition returns the partition's id and makes it if need be.
func (b *Batch) partition(p partition) (int64, error) {
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

func (b *Batch) findOrAdd(find, add Fixed, args ...any) (id int64, err error) {
	found, err := b.conn.Row(b.ctx, find, args, &id)
	if err == nil && !found {
		_, err = b.conn.Row(b.ctx, add, args, &id)
	}
	return id, err
}
