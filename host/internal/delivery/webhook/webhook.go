// Package webhook is the sink that posts messages to the user's own program.
//
// It sends a POST with this JSON and these headers:
//
//	{"idempotencyKey": …, "channel": …, "to": …, "accountId"?: …, "threadId"?: …, "text": …, "sessionKey": …, "runId": …}
//
//	Content-Type: application/json
//	Idempotency-Key: the message's key, the same at every attempt
//
// runId is empty for a message that was not written by a run. With a secret, the request
// also has the headers of the Standard Webhooks scheme (see sign). The receiver answers:
//
//   - 2xx: accepted. A receiver should also answer 2xx to a known key and drop the
//     message, so that it handles each message once.
//   - 408, 409, 425, 429, 5xx: try again, after the time in Retry-After (seconds or a
//     date) if present. 409 means that the first request with this key is still in
//     progress; when it is done, the receiver answers 2xx.
//   - anything else: permanently refused. Redirects are not followed.
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
	// Secret signs the requests; empty: they are not signed. If it begins with
	// "whsec_", the rest is the key in base64; otherwise the whole text is the key.
	Secret    string
	Transport http.RoundTripper // nil: a new one
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

// payload is the body of a request.
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

// Post posts the message.
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
