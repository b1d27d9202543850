package delivery

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/work"
)

// Wait returns a delivery when it has ended. It fails with abi.NotFound, and with
// ctx's error.
func (b *Outbox) Wait(ctx context.Context, id string) (*store.Delivery, error) {
	// Other processes, if there are any, tell this one nothing.
	poll := time.NewTicker(work.DefaultPoll)
	defer poll.Stop()
	for {
		ended, forget := b.endings.listen(id)
		d, err := b.read(ctx, id)
		if err != nil || d.Ended() {
			forget()
			return d, err
		}
		select {
		case <-ended:
		case <-poll.C:
			forget()
		case <-ctx.Done():
			forget()
			return nil, ctx.Err()
		}
	}
}

func (b *Outbox) read(ctx context.Context, id string) (*store.Delivery, error) {
	v, err := b.o.Store.View(ctx)
	if err != nil {
		return nil, err
	}
	d, err := v.Delivery(ctx, id)
	if err = errors.Join(err, v.Close()); err != nil {
		return nil, err
	}
	if d == nil {
		return nil, unknown(id)
	}
	return d, nil
}

// endings tells who waits for a delivery that it has ended. The zero value is
// ready.
type endings struct {
	mu   sync.Mutex
	byID map[string]map[chan struct{}]struct{}
}

// listen returns a channel that is closed when the delivery ends. Whoever does
// not wait for that calls forget.
func (e *endings) listen(id string) (ended <-chan struct{}, forget func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.byID == nil {
		e.byID = map[string]map[chan struct{}]struct{}{}
	}
	if e.byID[id] == nil {
		e.byID[id] = map[chan struct{}]struct{}{}
	}
	c := make(chan struct{})
	e.byID[id][c] = struct{}{}
	return c, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.byID[id], c)
		if len(e.byID[id]) == 0 {
			delete(e.byID, id)
		}
	}
}

func (e *endings) tell(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for c := range e.byID[id] {
		close(c)
	}
	delete(e.byID, id)
}
