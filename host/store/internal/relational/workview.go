package relational

import (
	"context"

	"github.com/parley-wasm/parley/host/store"
)

// Flow returns the flow with this id, or nil.
func (s *Snapshot) Flow(ctx context.Context, id string) (*store.Flow, error) {
	f, err := find[store.Flow](ctx, s.conn, flowByID, id)
	return f, s.db.Wrap("get flow "+id, err)
}

// Run returns the run with this id, or nil.
func (s *Snapshot) Run(ctx context.Context, id string) (*store.Run, error) {
	r, err := find[store.Run](ctx, s.conn, runByID, id)
	return r, s.db.Wrap("get run "+id, err)
}

// Delivery returns the delivery with this id, or nil.
func (s *Snapshot) Delivery(ctx context.Context, id string) (*store.Delivery, error) {
	d, err := find[store.Delivery](ctx, s.conn, deliveryByID, id)
	return d, s.db.Wrap("get delivery "+id, err)
}

// FlowOf returns the flow that a call created, or nil.
func (s *Snapshot) FlowOf(ctx context.Context, call store.CallKey) (*store.Flow, error) {
	f, err := findCall[store.Flow](ctx, s.conn, flowByCall, call)
	return f, s.db.Wrap("get the flow of call "+call.ID, err)
}

// RunOf returns the run that a request created, or nil.
func (s *Snapshot) RunOf(ctx context.Context, request store.CallKey) (*store.Run, error) {
	r, err := findCall[store.Run](ctx, s.conn, runByRequest, request)
	return r, s.db.Wrap("get the run of request "+request.ID, err)
}

// Flows lists flows, newest first.
func (s *Snapshot) Flows(ctx context.Context, f *store.Filter) ([]*store.Flow, error) {
	return listWork[store.Flow](ctx, s, "flows", f)
}

// Runs lists runs, newest first.
func (s *Snapshot) Runs(ctx context.Context, f *store.Filter) ([]*store.Run, error) {
	return listWork[store.Run](ctx, s, "runs", f)
}

// Deliveries lists deliveries, newest first.
func (s *Snapshot) Deliveries(ctx context.Context, f *store.Filter) ([]*store.Delivery, error) {
	return listWork[store.Delivery](ctx, s, "deliveries", f)
}

const (
	messagesOfRun = Fixed("SELECT coalesce(r.raw, m.body) FROM messages m LEFT JOIN message_raws r ON r.message = m.id WHERE m.run_id = $1 ORDER BY m.id")

	// All runs that a new run of the session $1 would wait for: the runs queued
	// before it, the runs for which their unanswered calls wait, and the runs queued
	// before those, recursively.
	blockingRuns = Fixed(`WITH RECURSIVE ahead (id) AS (
SELECT id FROM runs WHERE session_key = $1 AND ended_at IS NULL
UNION
SELECT before.id FROM ahead
JOIN flows ON flows.caller_run = ahead.id
JOIN runs waited ON waited.id = flows.wait_run
JOIN runs before ON before.session_key = waited.session_key AND before.ended_at IS NULL AND before.seq <= waited.seq
WHERE waited.ended_at IS NULL)
SELECT id FROM ahead WHERE id = $2 LIMIT 1`)
)

// RunMessages returns the raw messages that a run has stored, oldest first.
func (s *Snapshot) RunMessages(ctx context.Context, runID string) ([][]byte, error) {
	if runID == "" {
		return nil, ctx.Err()
	}
	all, err := texts(ctx, s.conn, messagesOfRun, runID)
	messages := make([][]byte, len(all))
	for i, text := range all {
		messages[i] = []byte(text)
	}
	return messages, s.db.Wrap("read the messages of run "+runID, err)
}

// WouldBlock reports whether a new run of the session would wait for the run, directly or
// through other runs (S4.4).
func (s *Snapshot) WouldBlock(ctx context.Context, sessionKey, runID string) (bool, error) {
	rows, err := s.conn.Query(ctx, blockingRuns, sessionKey, runID) // the cost depends on the queued runs
	if err != nil {
		return false, s.db.Wrap("check for a deadlock", err)
	}
	defer rows.Close()
	found := rows.Next()
	return found, s.db.Wrap("check for a deadlock", rows.Err())
}

// Due returns all scheduled work of a kind, earliest first.
func (s *Snapshot) Due(ctx context.Context, kind string) ([]store.Due, error) {
	all, err := s.due(ctx, kind)
	return all, s.db.Wrap("find due work", err)
}

// CountDue returns the number of pieces of work of a kind that are scheduled before a
// time.
func (s *Snapshot) CountDue(ctx context.Context, kind string, before int64) (n int, err error) {
	_, err = s.conn.Row(ctx, countDue, []any{kind, before}, &n)
	return n, s.db.Wrap("count due work", err)
}

func (s *Snapshot) due(ctx context.Context, kind string) ([]store.Due, error) {
	rows, err := s.conn.Query(ctx, due, kind)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []store.Due
	d := store.Due{Kind: kind}
	columns := []any{&d.ID, &d.At}
	for rows.Next() {
		if err := rows.Scan(columns...); err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, rows.Err()
}
