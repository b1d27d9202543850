// Package telegram is the sink that posts with a Telegram bot.
//
// Telegram accepts no idempotency key. A message may be posted twice if the process
// dies before it records the message, or if the connection breaks before the answer. A
// text of more than 4096 UTF-16 code units is posted in parts. A retry continues after
// the parts that this process has posted.
package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/parley-wasm/parley/host/internal/delivery/part"
	"github.com/parley-wasm/parley/host/internal/delivery/post"
	"github.com/parley-wasm/parley/host/sink"
)

// DefaultBaseURL is the address of Telegram's Bot API.
const DefaultBaseURL = "https://api.telegram.org"

// maxText is the maximum length of a message in UTF-16 code units.
const maxText = 4096

// Options are the settings of a Sink.
type Options struct {
	Token     string            // of the bot; required
	BaseURL   string            // empty: DefaultBaseURL
	Transport http.RoundTripper // nil: a new one
}

// Sink posts with one bot. It is safe for concurrent use.
type Sink struct {
	client *post.Client
	url    string // contains the token
	parts  part.Progress
}

var _ sink.Sink = (*Sink)(nil)

// New checks the options and returns a sink. Nothing is sent.
func New(o *Options) (*Sink, error) {
	if o == nil || o.Token == "" {
		return nil, errors.New("telegram: token is missing: create one with BotFather")
	}
	base, err := post.Base(o.BaseURL, DefaultBaseURL)
	if err != nil {
		return nil, fmt.Errorf("telegram: baseUrl: %w", err)
	}
	_, key, _ := strings.Cut(o.Token, ":") // the part before the colon is the bot's id
	return &Sink{
		client: post.NewClient("telegram", o.Transport, o.Token, key),
		url:    base + "/bot" + url.PathEscape(o.Token) + "/sendMessage",
	}, nil
}

// request is the body of sendMessage. It sets no parse mode, so that Telegram shows the
// text unchanged.
type request struct {
	ChatID   any    `json:"chat_id"` // int64, or text such as @name
	ThreadID int64  `json:"message_thread_id,omitempty"`
	Text     string `json:"text"`
}

// response is the part of Telegram's answers that contains the outcome.
type response struct {
	OK          bool   `json:"ok"`
	ErrorCode   int    `json:"error_code"`
	Description string `json:"description"`
	Parameters  struct {
		RetryAfter float64 `json:"retry_after"`
		MigrateTo  int64   `json:"migrate_to_chat_id"`
	} `json:"parameters"`
}

// Post posts the message, in parts if it is long.
func (s *Sink) Post(ctx context.Context, m *sink.Message) error {
	r := request{ChatID: chat(m.To)}
	if m.ThreadID != "" {
		id, err := strconv.ParseInt(m.ThreadID, 10, 64)
		if err != nil {
			return &sink.Permanent{Err: s.client.Errorf("threadId %.40q is not a number: use the id of a Telegram topic", m.ThreadID)}
		}
		r.ThreadID = id
	}
	if r.ThreadID == generalTopic {
		r.ThreadID = 0
	}
	return s.parts.Post(ctx, m.IdempotencyKey, part.Split(m.Text, maxText, part.UTF16), func(ctx context.Context, _ int, text string) error {
		r.Text = text
		return s.send(ctx, &r)
	})
}

// generalTopic is the topic that every forum has. Telegram rejects a post with this
// number; a post without a topic goes to the general topic.
const generalTopic = 1

// chat returns the id of a chat in the type that Telegram requires.
func chat(to string) any {
	to = post.TrimPrefixes(to, "telegram:", "tg:")
	if id, err := strconv.ParseInt(to, 10, 64); err == nil {
		return id
	}
	return to
}

func (s *Sink) send(ctx context.Context, r *request) error {
	body, err := json.Marshal(r)
	if err != nil {
		return &sink.Permanent{Err: err}
	}
	a, err := s.client.JSON(ctx, s.url, nil, body)
	if err != nil {
		return err
	}
	var answer response
	if !a.JSON(&answer) {
		return a.Classify(s.client.Errorf("answered %d with an unexpected body: %s", a.Status, s.client.Excerpt(a)))
	}
	if a.OK() && answer.OK {
		return nil
	}
	return s.refusal(a, &answer)
}

// refusal returns the error for an answer that refuses a message.
func (s *Sink) refusal(a *post.Answer, r *response) error {
	if r.ErrorCode != 0 {
		a.Status = r.ErrorCode
	}
	if r.Description == "" {
		r.Description = s.client.Excerpt(a)
	}
	err := s.client.Errorf("refused with %d: %s", a.Status, s.client.Clip(r.Description))
	if to := r.Parameters.MigrateTo; to != 0 {
		return &sink.Permanent{Err: s.client.Errorf("the group has become a supergroup with the id %d: send there", to)}
	}
	if after, ok := post.Seconds(r.Parameters.RetryAfter); ok && after > 0 {
		return &sink.Later{After: after, Err: err}
	}
	return a.Classify(err)
}
