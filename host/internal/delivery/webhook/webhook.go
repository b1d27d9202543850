// Package webhook is the sink that hands messages to a program of one's own.
//
// It sends a POST with this JSON and these headers:
//
//	{"idempotencyKey": …, "channel": …, "to": …, "accountId"?: …, "threadId"?: …, "text": …, "sessionKey": …, "runId": …}
//
//	Content-Type: application/json
//	Idempotency-Key: the message's key, the same at every attempt
//
// runId is empty for a message that no run has written. With a secret there are
// the headers of the Standard Webhooks scheme too (see sign). The receiver says:
//
//   - 2xx: taken, also to a key that it has seen before. It drops what it has
//     seen: then each message is taken once.
//   - 408, 409, 425, 429, 5xx: to be tried again, at the time of Retry-After
//     (seconds or a date) if there is one. 409 is for a key whose first request is
//     still being worked on; a receiver that has done that work says 2xx.
//   - anything else: refused for good. Redirects are not followed.
package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/parley-wasm/parley/host/internal/delivery/post"
	"github.com/parley-wasm/parley/host/sink"
)

// Options are the settings of a Sink.
type Options struct {
	URL string // required
	// Secret signs the requests; empty: they are not signed. With the prefix
	// "whsec_" the rest is the key in base64, otherwise the text itself is the key.
	Secret    string
	Transport http.RoundTripper // nil: one of its own
	Now       func() time.Time  // the signature's time; nil: time.Now
}

// Sink posts to a webhook. It is safe for concurrent use.
type Sink struct {
	client *post.Client
	url    string
	key    []byte // nil: not signed
	now    func() time.Time
}

var _ sink.Sink = (*Sink)(nil)

// New checks the options and returns a sink. Nothing is sent.
func New(o *Options) (*Sink, error) {
	if o == nil {
		o = &Options{}
	}
	u, err := post.Address(o.URL)
	if err != nil {
		return nil, fmt.Errorf("webhook: url: %w", err)
	}
	key, err := signingKey(o.Secret)
	if err != nil {
		return nil, fmt.Errorf("webhook: secret: %w", err)
	}
	password, _ := u.User.Password()
	s := &Sink{client: post.NewClient("webhook", o.Transport, o.Secret, password, u.RawQuery), url: o.URL, key: key, now: o.Now}
	if s.now == nil {
		s.now = time.Now
	}
	return s, nil
}

// payload is what the receiver gets.
type payload struct {
	IdempotencyKey string `json:"idempotencyKey"`
	Channel        string `json:"channel"`
	To             string `json:"to"`
	AccountID      string `json:"accountId,omitempty"`
	ThreadID       string `json:"threadId,omitempty"`
	Text           string `json:"text"`
	SessionKey     string `json:"sessionKey"`
	RunID          string `json:"runId"`
}

// Post hands the message over.
func (s *Sink) Post(ctx context.Context, m *sink.Message) error {
	body, err := json.Marshal(payload{m.IdempotencyKey, m.Channel, m.To, m.AccountID, m.ThreadID, m.Text, m.SessionKey, m.RunID})
	if err != nil {
		return &sink.Permanent{Err: err}
	}
	header := http.Header{}
	header.Set("Idempotency-Key", m.IdempotencyKey)
	if s.key != nil {
		sign(header, s.key, m.IdempotencyKey, s.now(), body)
	}
	a, err := s.client.JSON(ctx, s.url, header, body)
	if err != nil {
		return err
	}
	if a.OK() {
		return nil
	}
	return a.Classify(s.client.Errorf("answered %d: %s", a.Status, s.client.Excerpt(a)))
}
