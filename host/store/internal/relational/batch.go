package relational

import (
	"context"
	"errors"

	"github.com/parley-wasm/parley/host/store"
)

// Batch is a write transaction, or a savepoint in one, with a cache of its lookups.
// After the first failed statement, every use fails, even if the caller ignores the
// error: the database may have ended the transaction, and further statements would
// then be committed separately.
type Batch struct {
	db         *Database
	conn       Conn
	ctx        context.Context
	partitions map[partition]int64       // ids, by the partition without its id
	ends       map[string]*transcriptEnd // by session key
	failed     error                     // of the first failed statement; the transaction must not be committed
}

var _ store.Batch = (*Batch)(nil)

// transcriptEnd is the last position of a session's transcript.
type transcriptEnd struct {
	transcript  int64
	id, ordinal int64 // of the last message, as stored
}

// Batch wraps the write transaction that has begun on c. The caller must call End
// before it ends the transaction.
func (db *Database) Batch(ctx context.Context, c Conn) *Batch {
	return &Batch{db: db, conn: c, ctx: ctx, partitions: make(map[partition]int64), ends: make(map[string]*transcriptEnd)}
}

var errEnded = errors.New("store: the transaction was used after it had ended")

// End makes every later use fail. It returns the error of the first failed statement,
// if any. The caller must then roll back the transaction or savepoint.
func (b *Batch) End() error {
	err := b.failed
	b.conn, b.failed = nil, errEnded
	return err
}

// recordFailure records the first failure of a statement, so that half of a put cannot be
// committed even if its caller ignores the error. It returns the recorded failure.
func (b *Batch) recordFailure(operation string, err error) error {
	if err != nil && b.failed == nil {
		b.failed = b.db.Wrap(operation, err)
	}
	return b.failed
}

const (
	findPartition = Fixed("SELECT id FROM partitions WHERE agent_id = $1 AND kind = $2 AND archived = $3")
	addPartition  = Fixed("INSERT INTO partitions (agent_id, kind, archived) VALUES ($1, $2, $3) RETURNING id")

	findTranscript = Fixed("SELECT id FROM transcripts WHERE session_key = $1 AND session_id = $2")
	addTranscript  = Fixed("INSERT INTO transcripts (session_key, session_id) VALUES ($1, $2) RETURNING id")
)

// partition returns the partition's id, and creates the partition if it is missing.
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
