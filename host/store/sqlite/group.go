package sqlite

import (
	"context"
	"errors"

	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/internal/relational"
)

// Update runs fn in a write transaction, in a savepoint of its own: updates that
// wait for the same turn share one commit, and so one write to the disk.
//
// Whoever gets the turn starts a leader. It gathers who else waits, lets them run
// one after the other, commits, answers them all and gives the turn back. fn runs
// on its caller's goroutine, so that a panic is the caller's own.
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

// update is one call of Update. It waits until its answer is there; meanwhile
// the leader may let it run any number of times, in another transaction each.
type update struct {
	ctx    context.Context // counts until fn has begun
	fn     func(store.Tx) error
	begin  chan *relational.Tx // from the leader: it is this update's turn
	ran    chan error          // to the leader: what fn returned
	answer chan error          // from the leader, once
	begun  bool                // the leader's; fn has begun
}

func newUpdate(ctx context.Context, fn func(store.Tx) error) *update {
	return &update{ctx: ctx, fn: fn, begin: make(chan *relational.Tx), ran: make(chan error, 1), answer: make(chan error, 1)}
}

// attempt lets the update run, unless its caller has gone before it ran at all.
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

// wait runs fn when it is told to, and returns the answer.
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

// run runs fn and tells the leader how it went, also when fn panics or ends its
// goroutine.
func (u *update) run(t *relational.Tx) {
	err := errPanicked
	defer func() { u.ran <- err }()
	err = u.fn(t)
}

// lead carries out a group of updates, with the turn, which it gives back.
func (w *writer) lead(first *update) {
	group := []*update{first}
	for len(group) < w.most {
		select {
		case u := <-w.joining:
			group = append(group, u)
			continue
		default:
		}
		break
	}
	// Of a transaction that SQLite has ended, each of those who are not to blame
	// gets one of its own, in which none can cost another its change.
	for _, u := range w.together(group) {
		w.together([]*update{u})
	}
	if w.full {
		w.makeRoom()
	}
	<-w.turn
	w.db.subscribers.Notify()
}

// makeRoom lets the log's pages be written over, now that the disk is full: what
// they hold fits into the database but for a few pages, and the log has many.
func (w *writer) makeRoom() {
	w.full = false
	_ = w.Exec(context.Background(), checkpoint) // if it fails too, nothing is lost
}

// together carries out updates in one transaction and answers them. It returns
// those that it has not answered, because one of them ended it for all.
func (w *writer) together(group []*update) (again []*update) {
	if err := w.Exec(context.Background(), beginWrite); err != nil {
		w.answer(group, w.db.shared.Wrap("update", err))
		return nil
	}
	var kept []*update
	var scheduled []store.Due
	for i, u := range group {
		t, goes := w.within(u)
		if !goes {
			w.rollback()
			return append(kept, group[i+1:]...)
		}
		if t != nil {
			kept, scheduled = append(kept, u), append(scheduled, t.Scheduled()...)
		}
	}
	if len(kept) == 0 {
		w.rollback()
		return nil
	}
	err := w.Exec(context.Background(), commit)
	if err != nil {
		w.rollback()
	} else {
		w.db.subscribers.Add(scheduled)
	}
	w.answer(kept, w.db.shared.Wrap("commit", err))
	return nil
}

func (w *writer) answer(group []*update, err error) {
	w.full = w.full || errors.Is(err, store.ErrFull)
	for _, u := range group {
		u.answer <- err
	}
}

// within runs an update in a savepoint. It returns what is to be committed, or
// nil when nothing is left of it, the answer being given; and whether the
// transaction goes on.
func (w *writer) within(u *update) (_ *relational.Tx, goes bool) {
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
