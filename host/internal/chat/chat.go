// Package chat is where messages from outside enter sessions: from chat channels
// (chat.send), from programs (agent), and changes of a session's settings by the
// operator (sessions.patch).
//
// A message is refused, and then nothing is written; or it is accepted, and then
// its session, made if it was missing, and its run are on disk together. What an
// owner writes may be a command instead, which changes the session and starts no
// run. The checks come in this order: the request itself, whether it was accepted
// before, whether the session takes messages at all, and the send policy (S8.3).
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

// Options say what a Service works with. Store is required; the zero value of
// every other field is its default.
type Options struct {
	Store store.Durable
	// Config returns the settings in force; nil: the defaults.
	Config func() *config.Config
	// NewID makes the ids of runs, and what the ids of new sessions derive from;
	// nil: random ones.
	NewID func() string
	// Now is the clock; nil: time.Now.
	Now func() time.Time
	// Logger; nil: slog.Default().
	Logger *slog.Logger
}

// Service takes messages. It is safe for concurrent use and needs no closing.
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

// Send takes a message from a chat channel (chat.send). It fails with an
// *abi.Error: InvalidArgs (the request is wrong, its session is archived or of no
// agent, or its id belongs to another request) or Forbidden (send policy, S8). Any
// other error is the store's, and whether the message was accepted is then not
// known: the same RequestID may be tried again.
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
	if r.from == "" && r.target.Channel == "" || Owns(c, r.target.Channel, r.from) {
		r.command = parseCommand(r.text)
	}
	return s.accept(ctx, c, r)
}

// StartAgent asks for one run of a session's agent (agent). It fails as Send does.
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
		s.options.Logger.InfoContext(ctx, "message refused", "session", r.key, "reason", err)
		return nil, err
	case errors.As(err, &known):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("chat: %w", err)
	}
	return accepted, nil
}
