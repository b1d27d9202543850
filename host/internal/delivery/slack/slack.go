// Package slack is the sink that posts with a Slack app (chat.postMessage).
//
// Slack accepts an id with each message, but does not promise to drop known ids. So a
// message may be posted twice if the process dies before it records the message, or if
// the connection breaks before the answer. A text of more than 40,000 characters is
// posted in parts. A retry continues after the parts that this process has posted.
package slack

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/parley-wasm/parley/host/internal/delivery/part"
	"github.com/parley-wasm/parley/host/internal/delivery/post"
	"github.com/parley-wasm/parley/host/sink"
)

// DefaultBaseURL is the address of Slack's Web API.
const DefaultBaseURL = "https://slack.com/api"

// maxText is the maximum length of a message in characters; Slack truncates longer ones.
// Parts are measured in UTF-16 code units, which are at least as many.
const maxText = 40_000

// Options are the settings of a Sink.
type Options struct {
	Token     string            // of the bot, xoxb-…; required
	BaseURL   string            // empty: DefaultBaseURL
	Transport http.RoundTripper // nil: a new one
}

// Sink posts with one app. It is safe for concurrent use.
type Sink struct {
	client *post.Client
	url    string
	token  string
	parts  part.Progress
}

var _ sink.Sink = (*Sink)(nil)

// New checks the options and returns a sink. Nothing is sent.
func New(o *Options) (*Sink, error) {
	if o == nil || o.Token == "" {
		return nil, errors.New("slack: token is missing: create one on the app's page under OAuth")
	}
	base, err := post.Base(o.BaseURL, DefaultBaseURL)
	if err != nil {
		return nil, fmt.Errorf("slack: baseUrl: %w", err)
	}
	return &Sink{client: post.NewClient("slack", o.Transport, o.Token), url: base + "/chat.postMessage", token: o.Token}, nil
}

// request is the body of chat.postMessage.
type request struct {
	Channel     string `json:"channel"`
	Text        string `json:"text"`
	ThreadTS    string `json:"thread_ts,omitempty"`
	ClientMsgID string `json:"client_msg_id"`
}

// Post posts the message, in parts if it is long.
func (s *Sink) Post(ctx context.Context, m *sink.Message) error {
	r := request{Channel: post.TrimPrefixes(m.To, "slack:", "channel:", "user:"), ThreadTS: m.ThreadID}
	return s.parts.Post(ctx, m.IdempotencyKey, part.Split(m.Text, maxText, width), func(ctx context.Context, position int, text string) error {
		r.Text, r.ClientMsgID = escaper.Replace(text), messageID(m.IdempotencyKey, position)
		return s.send(ctx, &r)
	})
}

// escaper escapes Slack's three special characters. This also prevents an agent from
// notifying everyone with <!channel>.
var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func width(r rune) int {
	switch r {
	case '&':
		return len("&amp;")
	case '<', '>':
		return len("&lt;")
	}
	return part.UTF16(r)
}

// messageID derives a UUID from a message's idempotency key and a part's position.
func messageID(key string, position int) string {
	b := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", key, position))
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80 // version 8: custom
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:16])
}

func (s *Sink) send(ctx context.Context, r *request) error {
	body, err := json.Marshal(r)
	if err != nil {
		return &sink.Permanent{Err: err}
	}
	a, err := s.client.JSON(ctx, s.url, http.Header{"Authorization": {"Bearer " + s.token}}, body)
	if err != nil {
		return err
	}
	var answer struct {
		OK    bool   `json:"ok"`
		Error string `json:"error"`
	}
	switch {
	case !a.JSON(&answer) || !answer.OK && answer.Error == "":
		return a.Classify(s.client.Errorf("answered %d with an unexpected body: %s", a.Status, s.client.Excerpt(a)))
	case a.OK() && answer.OK:
		return nil
	}
	return s.refusal(a, answer.Error)
}
