package sqlite

import "context"

// writer is the only connection that writes, one transaction at a time. Each Load has
// its own transaction; updates share one (group.go).
type writer struct {
	*conn // nil when the database is closed
	db    *DB
	turn  chan struct{} // holds a token while a transaction runs

	joining  chan *update // from waiting updates to the leader, which holds the turn
	maxGroup int          // maximum number of updates in one commit
	full     bool         // an update failed because the disk is full
}

// maxGroup is the maximum number of updates in one commit. It bounds the time for
// which later updates wait.
const maxGroup = 256

func newWriter(ctx context.Context, db *DB) (*writer, error) {
	c, err := newConn(ctx, db.writing)
	if err != nil {
		return nil, err
	}
	return &writer{conn: c, db: db, turn: make(chan struct{}, 1), joining: make(chan *update), maxGroup: maxGroup}, nil
}

// transaction runs fn between BEGIN IMMEDIATE and COMMIT. It rolls back if fn returns
// an error or panics.
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

// rollback rolls the transaction back. It ignores errors: it fails only if SQLite has
// rolled back already, for example because the disk is full.
func (w *writer) rollback() { _ = w.Exec(context.Background(), rollback) }

// close waits for the running transaction, and for the notification of subscribers.
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
