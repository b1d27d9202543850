// Package sink defines the interface between the outbox and the code that posts its
// deliveries to a channel: a Sink, the Message that it posts, and two kinds of errors.
package sink

import (
	"context"
	"fmt"
	"time"

	"github.com/parley-wasm/parley/abi"
)

// Sink posts messages to one kind of channel. It is safe for concurrent use.
type Sink interface {
	// Post posts a message once. It must fail with *Permanent if a retry cannot help,
	// and with *Later if the service says when to retry; the outbox retries every
	// other error with backoff.
	Post(ctx context.Context, m *Message) error
}

// Message is a message to post.
type Message struct {
	IdempotencyKey string // the same for all attempts
	abi.Target
	Text       string
	SessionKey string
	RunID      string
}

// Permanent is an error that a retry cannot fix.
type Permanent struct{ Err error }

func (e *Permanent) Error() string { return e.Err.Error() }
func (e *Permanent) Unwrap() error { return e.Err }

// Later is an error with the time to wait before the next attempt.
type Later struct {
	After time.Duration
	Err   error
}

func (e *Later) Error() string { return fmt.Sprintf("%v (again after %s)", e.Err, e.After) }
func (e *Later) Unwrap() error { return e.Err }
