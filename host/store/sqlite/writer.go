package sqlite

import "context"

// writer is the one connection that writes, one transaction at a time: a Load
// has one to itself, updates share theirs (group.go).
type writer struct {
	*conn // nil when the database is closed
	db    *DB
	turn  chan struct{} // holds a token while somebody writes

	joining chan *update // from updates that wait, to a leader that has the turn
	most    int          // updates in one commit
	full    bool         // an update met a full disk
}

// mostTogether bounds the time that one commit takes: an update that has come
// too late waits for it.
const mostTogether = 256

func newWriter(ctx context.Context, db *DB) (*writer, error) {
	c, err := newConn(ctx, db.writing)
	if err != nil {
		return nil, err
	}
	return &writer{conn: c, db: db, turn: make(chan struct{}, 1), joining: make(chan *update), most: mostTogether}, nil
}

// transaction runs fn between BEGIN IMMEDIATE and COMMIT. An error or a panic
// rolls back.
func (w *writer) transaction(ctx context.Context, fn func() error) (err error) {
	select {
	case w.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-w.turn }()
	if w.conn == nil {
		return errClosed
	}
	if err := w.Exec(ctx, beginWrite); err != nil {
		return err
	}
	committed := false
	defer func() {
		if !committed {
			w.rollback()
		}
	}()
	if err := fn(); err != nil {
		return err
	}
	if err := w.Exec(ctx, commit); err != nil {
		return err
	}
	committed = true
	return nil
}

// rollback ends a transaction without a trace. It fails when SQLite has done so
// by itself, as on a full disk; that is the same.
func (w *writer) rollback() { _ = w.Exec(context.Background(), rollback) }

// close waits for the transaction that runs, and until subscribers have heard of
// what was committed.
func (w *writer) close() error {
	w.turn <- struct{}{}
	c := w.conn
	w.conn = nil
	<-w.turn
	w.db.subscribers.Wait()
	if c == nil {
		return nil
	}
	return c.close()
}
