package relational

import (
	"context"
	"slices"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

// Tx is one update, in a write transaction or in a savepoint of one.
type Tx struct {
	b         *Batch
	scheduled []store.Due
}

var _ store.Tx = (*Tx)(nil)

// Tx wraps the update that has begun on c. The caller must call End before it ends the
// transaction or savepoint. Each of the updates that share a transaction needs its own
// Tx, because the cached lookups of another may have been rolled back.
func (db *Database) Tx(c Conn) *Tx { return &Tx{b: db.Batch(context.Background(), c)} }

// End is Batch.End.
func (t *Tx) End() error { return t.b.End() }

// Scheduled returns the work that the update has scheduled, for notification.
func (t *Tx) Scheduled() []store.Due { return t.scheduled }

// row executes a statement that returns at most one row. It scans the row and reports
// whether there was one.
func (t *Tx) row(operation string, s Statement, args []any, into ...any) (bool, error) {
	if t.b.failed != nil {
		return false, t.b.failed
	}
	found, err := t.b.conn.Row(t.b.ctx, s, args, into...)
	return found, t.b.recordFailure(operation, err)
}

func (t *Tx) exec(operation string, s Statement, args ...any) error {
	if t.b.failed != nil {
		return t.b.failed
	}
	return t.b.recordFailure(operation, t.b.conn.Exec(t.b.ctx, s, args...))
}

// get reads a row unless the transaction has failed.
func get[T any](t *Tx, operation string, find func(context.Context, Conn) (*T, error)) (*T, error) {
	if t.b.failed != nil {
		return nil, t.b.failed
	}
	row, err := find(t.b.ctx, t.b.conn)
	if err := t.b.recordFailure(operation, err); err != nil {
		return nil, err
	}
	return row, nil
}

// Session returns the session with this canonical key, or nil.
func (t *Tx) Session(key string) (*abi.Session, error) {
	var r storedSession
	found, err := t.row("get session "+key, locked{sessionByKey, "sessions"}, []any{key}, r.columns()...)
	if err != nil || !found {
		return nil, err
	}
	session := decodeSession(r.data)
	return &session, nil
}

// PutSession inserts or updates a session and keeps the stored extra.
func (t *Tx) PutSession(s *abi.Session) error {
	if t.b.failed != nil {
		return t.b.failed
	}
	row, err := newSessionRow(s, nil)
	if err != nil {
		return err
	}
	row.keepExtra = true
	_, err = t.b.putSession(row)
	return t.b.recordFailure("put session "+s.Key, err)
}

// Append appends a message to the transcript of key.
func (t *Tx) Append(key string, m *store.Message) error {
	_, err := t.b.PutMessage(key, m)
	return err
}

// Flow returns the flow with this id, or nil.
func (t *Tx) Flow(id string) (*store.Flow, error) {
	return get(t, "get flow "+id, func(ctx context.Context, c Conn) (*store.Flow, error) {
		return find[store.Flow](ctx, c, locked{flowByID, "flows"}, id)
	})
}

// FlowOf returns the flow that a call created, or nil.
func (t *Tx) FlowOf(call store.CallKey) (*store.Flow, error) {
	return get(t, "get the flow of call "+call.ID, func(ctx context.Context, c Conn) (*store.Flow, error) {
		return findCall[store.Flow](ctx, c, locked{flowByCall, "flows"}, call)
	})
}

// Run returns the run with this id, or nil.
func (t *Tx) Run(id string) (*store.Run, error) {
	return get(t, "get run "+id, func(ctx context.Context, c Conn) (*store.Run, error) {
		return find[store.Run](ctx, c, locked{runByID, "runs"}, id)
	})
}

// RunOf returns the run that a request created, or nil.
func (t *Tx) RunOf(request store.CallKey) (*store.Run, error) {
	return get(t, "get the run of request "+request.ID, func(ctx context.Context, c Conn) (*store.Run, error) {
		return findCall[store.Run](ctx, c, locked{runByRequest, "runs"}, request)
	})
}

// Delivery returns the delivery with this id, or nil.
func (t *Tx) Delivery(id string) (*store.Delivery, error) {
	return get(t, "get delivery "+id, func(ctx context.Context, c Conn) (*store.Delivery, error) {
		return find[store.Delivery](ctx, c, locked{deliveryByID, "deliveries"}, id)
	})
}

const waiting = Fixed("SELECT id FROM flows WHERE wait_run = $1 ORDER BY seq")

// WaitingFlows returns the ids of the flows that wait for a run, oldest first.
func (t *Tx) WaitingFlows(runID string) ([]string, error) {
	ids, err := get(t, "find the flows that wait for run "+runID, func(ctx context.Context, c Conn) (*[]string, error) {
		ids, err := texts(ctx, c, waiting, runID)
		return &ids, err
	})
	if err != nil {
		return nil, err
	}
	return *ids, nil
}

// WouldBlock is Snapshot.WouldBlock within this transaction.
func (t *Tx) WouldBlock(sessionKey, runID string) (bool, error) {
	var id string
	return t.row("check for a deadlock", blockingRuns, []any{sessionKey, runID}, &id)
}

// texts returns the single column of a statement's rows.
func texts(ctx context.Context, c Conn, s Statement, args ...any) ([]string, error) {
	rows, err := c.QueryBounded(ctx, s, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []string
	var text string
	columns := []any{&text}
	for rows.Next() {
		if err := rows.Scan(columns...); err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, rows.Err()
}

const (
	schedule   = Fixed("INSERT INTO work (kind, id, due_at) VALUES ($1, $2, $3) ON CONFLICT (kind, id) DO UPDATE SET due_at = excluded.due_at")
	unschedule = Fixed("DELETE FROM work WHERE kind = $1 AND id = $2")
)

// Schedule sets the time at which a piece of work is due, and keeps its claim.
func (t *Tx) Schedule(kind, id string, at int64) error {
	if err := t.exec("schedule "+kind+" "+id, schedule, kind, id, at); err != nil {
		return err
	}
	t.cancelNotification(kind, id)
	t.scheduled = append(t.scheduled, store.Due{Kind: kind, ID: id, At: at})
	return nil
}

// Unschedule removes a piece of work and its claim.
func (t *Tx) Unschedule(kind, id string) error {
	err := t.exec("unschedule "+kind+" "+id, unschedule, kind, id)
	t.cancelNotification(kind, id)
	return err
}

// cancelNotification removes the pending notification of a piece of work.
func (t *Tx) cancelNotification(kind, id string) {
	t.scheduled = slices.DeleteFunc(t.scheduled, func(d store.Due) bool { return d.Kind == kind && d.ID == id })
}
