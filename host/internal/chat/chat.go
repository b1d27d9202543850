// Package chat handles inbound requests: messages from chat channels (method chat.send)
// and from programs (method agent), and the operator's changes to session settings
// (method sessions.patch).
//
// A message is either refused, and nothing is written, or accepted: its session (a new
// one if necessary) and its run are committed together. A message from the operator or
// a sender in session.owners may be a command instead, which changes the session's send
// policy and starts no run. The checks are, in this order: whether the request is
// valid, whether it was accepted before, whether the session is archived, and the send
// policy (S8.3).
package chat

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/internal/work"
	"github.com/parley-wasm/parley/host/store"
)

// Options configure a Service. Store is required; the zero value of
// every other field is its default.
type Options struct {
	Store store.Durable
	// Config returns the current settings; nil: the defaults.
	Config func() *config.Config
	// NewID generates the ids of runs, from which the ids of new sessions derive;
	// nil: random ids.
	NewID func() string
	// Now is the clock; nil: time.Now.
	Now func() time.Time
	// Logger; nil: slog.Default().
	Logger *slog.Logger
}

// Service accepts messages. It is safe for concurrent use and need not be closed.
type Service struct {
	options Options
}

// New returns a Service.
func New(o *Options) (*Service, error) {
	if o == nil || o.Store == nil {
		return nil, errors.New("chat: Options.Store is required")
	}
	v := *o
	if v.Config == nil {
		c := config.Default()
		v.Config = func() *config.Config { return c }
	}
	if v.NewID == nil {
		v.NewID = rand.Text
	}
	if v.Now == nil {
		v.Now = time.Now
	}
	if v.Logger == nil {
		v.Logger = slog.Default()
	}
	return &Service{options: v}, nil
}

// Send accepts a message from a chat channel (chat.send). It fails with an *abi.Error:
// InvalidArgs (the request is invalid, its session is archived or its agent is not
// configured, or its id belongs to another request) or Forbidden (send policy, S8).
// Any other error is from the store. The message may then have been accepted; the
// caller may repeat it with the same RequestID.
func (s *Service) Send(ctx context.Context, m *Message) (*Accepted, error) {
	c := s.options.Config()
	r, err := newRequest(c, "chat.send", m.SessionKey, m.Text, m.RequestID)
	if err != nil {
		return nil, err
	}
	r.deliver = true
	if r.from, err = sender(m.From); err != nil {
		return nil, err
	}
	if r.target, err = target(m.Target); err != nil {
		return nil, err
	}
	if r.from == "" && r.target.Channel == "" || IsOwner(c, r.target.Channel, r.from) {
		r.command = parseCommand(r.text)
	}
	return s.accept(ctx, c, r)
}

// StartAgent queues one run of a session's agent (agent). It fails as Send does.
func (s *Service) StartAgent(ctx context.Context, a *AgentRequest) (*Accepted, error) {
	c := s.options.Config()
	r, err := newRequest(c, "agent", a.SessionKey, a.Message, a.RequestID)
	if err != nil {
		return nil, err
	}
	r.deliver = a.Deliver
	return s.accept(ctx, c, r)
}

func (s *Service) accept(ctx context.Context, c *config.Config, r *request) (*Accepted, error) {
	id, now := "r_"+s.options.NewID(), s.options.Now().UnixMilli()
	var accepted *Accepted
	err := s.options.Store.Update(ctx, func(tx store.Tx) error {
		var err error
		if accepted, err = r.previous(tx); accepted != nil || err != nil {
			return err
		}
		session, err := s.session(tx, r, id, now)
		if err != nil {
			return err
		}
		if r.command != nil {
			accepted = &Accepted{Status: StatusOK, Reply: r.command.reply}
			session.SendPolicy = r.command.override
			if err := tx.PutSession(session); err != nil || r.id == "" {
				return err
			}
			return tx.PutRun(r.commandRun(id, now))
		}
		accepted = &Accepted{RunID: id, Status: StatusAccepted}
		session.UpdatedAt = max(session.UpdatedAt, now)
		recordTarget(session, r.target)
		if err := c.Session.SendPolicy.Receive(c.Keys(), session); err != nil {
			return err
		}
		if err := tx.PutSession(session); err != nil {
			return err
		}
		return work.QueueRun(tx, r.run(id, now))
	})
	var known *abi.Error
	switch {
	case errors.Is(err, abi.Forbidden):
		s.options.Logger.InfoContext(ctx, "chat: message refused", "session", r.key, "reason", err)
		return nil, err
	case errors.As(err, &known):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("chat: %w", err)
	}
	return accepted, nil
}
