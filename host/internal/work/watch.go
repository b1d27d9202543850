package work

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Watch lets those look again who wait for a row of the store, when somebody in
// this process says that it has changed. It is safe for concurrent use. The zero
// value is ready.
type Watch struct {
	mu     sync.Mutex
	rows   map[string]*watched
	closed bool
}

// ErrClosing is what ends a wait when whoever it waits in is closing. What is
// waited for goes on elsewhere.
var ErrClosing = errors.New("work: closing; what is waited for goes on with the next owner of the store")

// watched is a row that somebody waits for.
type watched struct {
	changed chan struct{}
	waiting int
}

// Await calls look until it says that it is done, or fails: at once, whenever the
// row was told of, and every DefaultPoll, because other processes tell nothing. It
// fails with ctx's error when ctx ends while there is nothing to look at, and with
// ErrClosing when the Watch is closed.
func (w *Watch) Await(ctx context.Context, id string, look func() (done bool, err error)) error {
	again := time.NewTicker(DefaultPoll)
	defer again.Stop()
	for {
		changed, forget, err := w.on(id)
		if err != nil {
			return err
		}
		done, err := look()
		if done || err != nil {
			forget()
			return err
		}
		select {
		case <-changed:
		case <-again.C:
		case <-ctx.Done():
			err = ctx.Err()
		}
		forget()
		if err != nil {
			return err
		}
	}
}

// Close ends all waits, and those to come at once.
func (w *Watch) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for id, row := range w.rows {
		close(row.changed)
		delete(w.rows, id)
	}
}

// Tell says that a row has changed.
func (w *Watch) Tell(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if row := w.rows[id]; row != nil {
		close(row.changed)
		delete(w.rows, id)
	}
}

// on returns a channel that is closed when the row is told of from now on.
func (w *Watch) on(id string) (changed <-chan struct{}, forget func(), err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, nil, ErrClosing
	}
	row := w.rows[id]
	if row == nil {
		row = &watched{changed: make(chan struct{})}
		if w.rows == nil {
			w.rows = map[string]*watched{}
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
