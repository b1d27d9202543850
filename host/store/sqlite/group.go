package sqlite

import (
	"context"
	"errors"

	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/internal/relational"
)

// Update runs fn in a write transaction, in its own savepoint. Updates that wait at the
// same time share one commit, and so one write to the disk.
//
// The update that acquires the writer's turn starts a leader. The leader collects the
// waiting updates, runs them one after the other, commits, answers all of them and
// releases the turn. fn runs on the goroutine of its caller, so that a panic reaches
// the caller.
func (db *DB) Update(ctx context.Context, fn func(store.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	u := newUpdate(ctx, fn)
	w := db.writer
	select {
	case w.joining <- u:
	case w.turn <- struct{}{}:
		if w.conn == nil {
			<-w.turn
			return errClosed
		}
		go w.lead(u)
	case <-ctx.Done():
		return ctx.Err()
	}
	return u.wait()
}

// update is one call of Update. Until it receives its answer, the leader may run it
// several times, each time in another transaction.
type update struct {
	ctx    context.Context // observed until fn has begun
	fn     func(store.Tx) error
	begin  chan *relational.Tx // from the leader: run fn now
	ran    chan error          // to the leader: the result of fn
	answer chan error          // from the leader, once
	begun  bool                // fn has begun; used by the leader only
}

func newUpdate(ctx context.Context, fn func(store.Tx) error) *update {
	return &update{ctx: ctx, fn: fn, begin: make(chan *relational.Tx), ran: make(chan error, 1), answer: make(chan error, 1)}
}

// attempt runs the update, unless its context ends before its first run.
func (u *update) attempt(t *relational.Tx) error {
	canceled := u.ctx.Done()
	if u.begun {
		canceled = nil
	}
	select {
	case u.begin <- t:
	case <-canceled:
		return u.ctx.Err()
	}
	u.begun = true
	return <-u.ran
}

// wait runs fn whenever the leader requests it, and returns the answer.
func (u *update) wait() error {
	canceled := u.ctx.Done()
	for {
		select {
		case t := <-u.begin:
			canceled = nil
			u.run(t)
		case err := <-u.answer:
			return err
		case <-canceled:
			return u.ctx.Err()
		}
	}
}

var errPanicked = errors.New("sqlite: the update panicked")

// run runs fn and sends its result to the leader, even when fn panics or calls
// runtime.Goexit.
func (u *update) run(t *relational.Tx) {
	err := errPanicked
	defer func() { u.ran <- err }()
	err = u.fn(t)
}

// lead runs a group of updates. It holds the turn, and releases it at the end.
func (w *writer) lead(first *update) {
	group := []*update{first}
	for len(group) < w.maxGroup {
		select {
		case u := <-w.joining:
			group = append(group, u)
			continue
		default:
		}
		break
	}
	// If an update made SQLite end the shared transaction, the updates without an answer
	// run again, each in its own transaction, so that none can roll back another.
	for _, u := range w.runGroup(group) {
		w.runGroup([]*update{u})
	}
	if w.full {
		w.checkpointLog()
	}
	<-w.turn
	w.db.subscribers.Notify()
}

// checkpointLog checkpoints the write-ahead log after the disk was full, so that the
// log's pages can be reused. This needs little space: most pages of the log replace
// existing pages of the database.
func (w *writer) checkpointLog() {
	w.full = false
	_ = w.Exec(context.Background(), checkpoint) // a failure loses no data
}

// runGroup runs updates in one transaction and answers them. If one of them ends the
// transaction, runGroup returns the updates that it has not answered.
func (w *writer) runGroup(group []*update) (again []*update) {
	if err := w.Exec(context.Background(), beginWrite); err != nil {
		w.answer(group, w.db.shared.Wrap("update", err))
		return nil
	}
	var succeeded []*update
	var scheduled []store.Due
	for i, u := range group {
		t, usable := w.runInSavepoint(u)
		if !usable {
			w.rollback()
			return append(succeeded, group[i+1:]...)
		}
		if t != nil {
			succeeded, scheduled = append(succeeded, u), append(scheduled, t.Scheduled()...)
		}
	}
	if len(succeeded) == 0 {
		w.rollback()
		return nil
	}
	err := w.Exec(context.Background(), commit)
	if err != nil {
		w.rollback()
	} else {
		w.db.subscribers.Add(scheduled)
	}
	w.answer(succeeded, w.db.shared.Wrap("commit", err))
	return nil
}

func (w *writer) answer(group []*update, err error) {
	w.full = w.full || errors.Is(err, store.ErrFull)
	for _, u := range group {
		u.answer <- err
	}
}

// runInSavepoint runs an update in a savepoint. It returns the Tx to commit, or nil if
// the update failed and has been answered. usable reports whether the transaction is
// still usable.
func (w *writer) runInSavepoint(u *update) (_ *relational.Tx, usable bool) {
	ctx := context.Background()
	if err := w.Exec(ctx, savepoint); err != nil {
		w.answer([]*update{u}, w.db.shared.Wrap("update", err))
		return nil, false
	}
	t := w.db.shared.Tx(w.conn)
	err := u.attempt(t)
	if failed := t.End(); err == nil {
		err = failed
	}
	if err == nil {
		if err = w.Exec(ctx, release); err == nil {
			return t, true
		}
		err = w.db.shared.Wrap("update", err)
	}
	w.answer([]*update{u}, err)
	if err := w.Exec(ctx, undo); err != nil {
		return nil, false
	}
	err = w.Exec(ctx, release)
	return nil, err == nil
}
