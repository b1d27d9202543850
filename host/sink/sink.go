// Package sink is the interface between the outbox and what posts its deliveries to
// a channel: a Sink, the Message that it posts, and the two failures that it can name.
package sink

import (
	"context"
	"fmt"
	"time"

	"github.com/parley-wasm/parley/abi"
)

// Sink posts messages to one kind of channel. It is safe for concurrent use.
type Sink interface {
	// Post posts a message once. It fails with *Permanent when trying again is of
	// no use, and with *Later when the other side says when to try again; every
	// other failure is tried again with backoff.
	Post(ctx context.Context, m *Message) error
}

// Message is what a sink posts.
type Message struct {
	IdempotencyKey string // stable over all attempts
	abi.Target
	Text       string
	SessionKey string
	RunID      string
}

// Permanent is a failure that will not go away by itself.
type Permanent struct{ Err error }

func (e *Permanent) Error() string { return e.Err.Error() }
func (e *Permanent) Unwrap() error { return e.Err }

// Later is a failure with the time after which to try again.
type Later struct {
	After time.Duration
	Err   error
}

func (e *Later) Error() string { return fmt.Sprintf("%v (again after %s)", e.Err, e.After) }
func (e *Later) Unwrap() error { return e.Err }
