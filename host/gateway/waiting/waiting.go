// Package waiting is about calls that wait for others, such as an agent's answer.
// Such a call may last an hour, and what it waits for goes on without it: so it
// takes no slot among the calls under way, and when its front end stops it is
// cut off, while every other call is let end.
//
// The host says when a call begins to wait (host.Call.Wait). A call is
//
//	working  from Track on: it ends by itself, and Close lets it
//	waiting  told so: Close ends its context, with ErrClosing as the cause
package waiting

import (
	"context"
	"errors"
	"sync"
)

// ErrClosing is why a wait was cut off. Its text is for the client.
var ErrClosing = errors.New("the gateway is stopping and waits no longer; what was accepted goes on: call again with the same call id to get the answer")

// Group are the calls of one front end. It is safe for concurrent use; who made
// it closes it.
type Group struct {
	closing context.Context
	close   context.CancelFunc
}

// NewGroup returns a Group without calls.
func NewGroup() *Group {
	g := &Group{}
	g.closing, g.close = context.WithCancel(context.Background())
	return g
}

// Close ends the waits under way, and every later one at once.
func (g *Group) Close() { g.close() }

// Call is one call of a Group.
type Call struct {
	group  *Group
	cancel context.CancelCauseFunc
	began  func()

	mu   sync.Mutex
	stop func() bool // of what ends the wait; nil while the call works
}

// Track returns a call with its context. began, unless nil, is called when the
// call waits for the first time. The call is to be ended with Done.
func (g *Group) Track(ctx context.Context, began func()) (context.Context, *Call) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, &Call{group: g, cancel: cancel, began: began}
}

// Suspend says that the call begins to wait.
func (c *Call) Suspend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stop != nil {
		return
	}
	c.stop = context.AfterFunc(c.group.closing, func() { c.cancel(ErrClosing) })
	if c.began != nil {
		c.began()
		c.began = nil
	}
}

// Resume says that the call waits no longer.
func (c *Call) Resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stop != nil {
		c.stop()
		c.stop = nil
	}
}

// Done ends the call and its context.
func (c *Call) Done() {
	c.Resume()
	c.cancel(context.Canceled)
}

// CutOff reports whether a call with this context was cut off by Close.
func CutOff(ctx context.Context) bool { return context.Cause(ctx) == ErrClosing }
