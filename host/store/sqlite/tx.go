package sqlite

import (
	"context"
	"slices"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

// tx is what one update has done of a write transaction. The first statement that
// fails ends it, whatever fn makes of that: SQLite may have ended the transaction,
// and what followed would be committed by itself.
type tx struct {
	b         *batch
	scheduled []store.Due
}

var _ store.Tx = (*tx)(nil)

// newTx begins on a new batch: what another has looked up may have been undone.
func newTx(db *DB) *tx { return &tx{b: newBatch(context.Background(), db)} }

func (t *tx) end() { t.b.end() }

func (t *tx) failed() error { return t.b.failed }

// row scans the single row of a statement, and reports whether there was one.
func (t *tx) row(doing string, s statement, args []any, into ...any) (bool, error) {
	if t.b.failed != nil {
		return false, t.b.failed
	}
	found, err := t.b.row(t.b.ctx, s, args, into...)
	return found, t.b.keep(doing, err)
}

// exec runs a statement and returns how many rows it changed.
func (t *tx) exec(doing string, s statement, args ...any) (changed int64, err error) {
	if t.b.failed != nil {
		return 0, t.b.failed
	}
	result, err := t.b.exec(t.b.ctx, s, args...)
	if err == nil {
		changed, err = result.RowsAffected()
	}
	return changed, t.b.keep(doing, err)
}

// get reads a row unless the transaction has failed.
func get[T any](t *tx, doing string, find func(context.Context, *conn) (*T, error)) (*T, error) {
	if t.b.failed != nil {
		return nil, t.b.failed
	}
	row, err := find(t.b.ctx, t.b.conn)
	if err := t.b.keep(doing, err); err != nil {
		return nil, err
	}
	return row, nil
}

// Session returns the session with this canonical key, or nil.
func (t *tx) Session(key string) (*abi.Session, error) {
	var r stored
	found, err := t.row("get session "+key, sessionByKey, []any{key}, r.columns()...)
	if err != nil || !found {
		return nil, err
	}
	session := decodeSession(r.data)
	return &session, nil
}

// PutSession inserts or updates a session and keeps its extra.
func (t *tx) PutSession(s *abi.Session) error {
	if t.b.failed != nil {
		return t.b.failed
	}
	row, err := newSessionRow(s, nil)
	if err != nil {
		return err
	}
	row.keepExtra = true
	_, err = t.b.putSession(row)
	return t.b.keep("put session "+s.Key, err)
}

// Append appends a message to the transcript of key.
func (t *tx) Append(key string, m *store.Message) error {
	_, err := t.b.PutMessage(key, m)
	return err
}

// Flow returns the flow with this id, or nil.
func (t *tx) Flow(id string) (*store.Flow, error) {
	return get(t, "get flow "+id, func(ctx context.Context, c *conn) (*store.Flow, error) { return find[store.Flow](ctx, c, flowByID, id) })
}

// FlowOf returns the flow that a call made, or nil.
func (t *tx) FlowOf(call store.CallKey) (*store.Flow, error) {
	return get(t, "get the flow of call "+call.ID, func(ctx context.Context, c *conn) (*store.Flow, error) {
		return findCall[store.Flow](ctx, c, flowByCall, call)
	})
}

// Run returns the run with this id, or nil.
func (t *tx) Run(id string) (*store.Run, error) {
	return get(t, "get run "+id, func(ctx context.Context, c *conn) (*store.Run, error) { return find[store.Run](ctx, c, runByID, id) })
}

// RunOf returns the run that a request made, or nil.
func (t *tx) RunOf(request store.CallKey) (*store.Run, error) {
	return get(t, "get the run of request "+request.ID, func(ctx context.Context, c *conn) (*store.Run, error) {
		return findCall[store.Run](ctx, c, runByRequest, request)
	})
}

// Delivery returns the delivery with this id, or nil.
func (t *tx) Delivery(id string) (*store.Delivery, error) {
	return get(t, "get delivery "+id, func(ctx context.Context, c *conn) (*store.Delivery, error) {
		return find[store.Delivery](ctx, c, deliveryByID, id)
	})
}

const waiting = fixed("SELECT id FROM flows WHERE wait_run = $1 ORDER BY seq")

// Waiting returns the ids of the flows that wait for a run, oldest first.
func (t *tx) Waiting(runID string) ([]string, error) {
	ids, err := get(t, "find who waits for run "+runID, func(ctx context.Context, c *conn) (*[]string, error) {
		ids, err := texts(ctx, c, waiting, runID)
		return &ids, err
	})
	if err != nil {
		return nil, err
	}
	return *ids, nil
}

// Waits reports whether a new run of the session would wait for the run (S4.4).
func (t *tx) Waits(sessionKey, runID string) (bool, error) {
	var id string
	return t.row("look for waits", waits, []any{sessionKey, runID}, &id)
}

// texts returns the single column of a statement's rows.
func texts(ctx context.Context, c *conn, s statement, args ...any) ([]string, error) {
	rows, err := c.bounded(ctx, s, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, rows.Err()
}

const (
	schedule   = fixed("INSERT INTO work (kind, id, due_at) VALUES ($1, $2, $3) ON CONFLICT (kind, id) DO UPDATE SET due_at = excluded.due_at")
	unschedule = fixed("DELETE FROM work WHERE kind = $1 AND id = $2")
)

// Schedule says when a piece of work is due. A claim of it stays.
func (t *tx) Schedule(kind, id string, at int64) error {
	if _, err := t.exec("schedule "+kind+" "+id, schedule, kind, id, at); err != nil {
		return err
	}
	t.forget(kind, id)
	t.scheduled = append(t.scheduled, store.Due{Kind: kind, ID: id, At: at})
	return nil
}

// Unschedule ends a piece of work, and with it its claim.
func (t *tx) Unschedule(kind, id string) error {
	_, err := t.exec("unschedule "+kind+" "+id, unschedule, kind, id)
	t.forget(kind, id)
	return err
}

// forget takes back what subscribers were to hear of a piece.
func (t *tx) forget(kind, id string) {
	t.scheduled = slices.DeleteFunc(t.scheduled, func(d store.Due) bool { return d.Kind == kind && d.ID == id })
}
