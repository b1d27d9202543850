package e2e

import (
	"context"
	"fmt"
	"sync"
)

// Load is a number of concurrent clients. Each makes one call after the other until the
// load is stopped or a call fails.
type Load struct {
	ctx      context.Context
	fail     context.CancelCauseFunc
	stopping chan struct{}
	clients  sync.WaitGroup
}

// StartLoad starts the clients. call makes the nth call of a client.
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

// Context returns the context of the calls. It ends when a call fails.
func (l *Load) Context() context.Context { return l.ctx }

// Stopping reports whether Stop was called.
func (l *Load) Stopping() bool {
	select {
	case <-l.stopping:
		return true
	default:
		return false
	}
}

// Stop lets the current calls end, waits for them, and returns the first failure.
func (l *Load) Stop() error {
	close(l.stopping)
	l.clients.Wait()
	defer l.fail(nil)
	return context.Cause(l.ctx)
}
