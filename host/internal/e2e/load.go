package e2e

import (
	"context"
	"fmt"
	"sync"
)

// Load is clients that make one call after the other, all at the same time, until they
// are stopped or a call fails.
type Load struct {
	ctx      context.Context
	fail     context.CancelCauseFunc
	stopping chan struct{}
	clients  sync.WaitGroup
}

// StartLoad starts clients. call makes a client's nth call.
func StartLoad(ctx context.Context, clients int, call func(l *Load, client, n int) error) *Load {
	l := &Load{stopping: make(chan struct{})}
	l.ctx, l.fail = context.WithCancelCause(ctx)
	for id := range clients {
		l.clients.Go(func() {
			for n := 0; l.ctx.Err() == nil && !l.Stopping(); n++ {
				if err := call(l, id, n); err != nil {
					l.fail(fmt.Errorf("client %d, call %d: %w", id, n, err))
				}
			}
		})
	}
	return l
}

// Context ends when a call fails.
func (l *Load) Context() context.Context { return l.ctx }

// Stopping reports whether no more calls are to be made.
func (l *Load) Stopping() bool {
	select {
	case <-l.stopping:
		return true
	default:
		return false
	}
}

// Stop waits until the calls under way have ended, and returns the first failure.
func (l *Load) Stop() error {
	close(l.stopping)
	l.clients.Wait()
	defer l.fail(nil)
	return context.Cause(l.ctx)
}
