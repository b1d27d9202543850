package work

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Watch notifies waiting goroutines of this process that a row of the store has
// changed. It is safe for concurrent use. The zero value is ready to use.
type Watch struct {
	mu     sync.Mutex
	rows   map[string]*watchedRow
	closed bool
}

// ErrClosing is the error of a wait whose Watch was closed. The flow or run that the
// caller waited for continues.
var ErrClosing = errors.New("work: closing; the next owner of the store continues the work")

// watchedRow is a row for which at least one goroutine waits.
type watchedRow struct {
	changed chan struct{}
	waiting int
}

// Await calls check until check reports that it is done or fails: immediately, after
// each notification for the row, and every DefaultPoll, because other processes send
// no notifications. It returns ctx's error when ctx ends during a wait, and
// ErrClosing when the Watch is closed.
func (w *Watch) Await(ctx context.Context, id string, check func() (done bool, err error)) error {
	again := time.NewTicker(DefaultPoll)
	defer again.Stop()
	for {
		changed, unsubscribe, err := w.subscribe(id)
		if err != nil {
			return err
		}
		done, err := check()
		if done || err != nil {
			unsubscribe()
			return err
		}
		select {
		case <-changed:
		case <-again.C:
		case <-ctx.Done():
			err = ctx.Err()
		}
		unsubscribe()
		if err != nil {
			return err
		}
	}
}

// Close ends all current waits. Later waits fail immediately.
func (w *Watch) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for id, row := range w.rows {
		close(row.changed)
		delete(w.rows, id)
	}
}

// Notify notifies the waiting goroutines that a row has changed.
func (w *Watch) Notify(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if row := w.rows[id]; row != nil {
		close(row.changed)
		delete(w.rows, id)
	}
}

// subscribe returns a channel that is closed at the next notification for the row.
func (w *Watch) subscribe(id string) (changed <-chan struct{}, unsubscribe func(), err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, nil, ErrClosing
	}
	row := w.rows[id]
	if row == nil {
		row = &watchedRow{changed: make(chan struct{})}
		if w.rows == nil {
			w.rows = map[string]*watchedRow{}
		}
		w.rows[id] = row
	}
	row.waiting++
	return row.changed, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if row.waiting--; row.waiting == 0 && w.rows[id] == row {
			delete(w.rows, id)
		}
	}, nil
}
