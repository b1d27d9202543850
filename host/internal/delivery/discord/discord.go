// Package discord is the sink that posts with a Discord bot.
//
// Each message carries a nonce derived from its idempotency key, with enforce_nonce
// set. For a few minutes, Discord answers a known nonce with the existing message and
// posts no new one. So a message is posted once if it is recorded or retried within
// that time. It may be posted twice if the process dies before it records the message
// and restarts after that time. A text of more than 2000 characters is posted in parts,
// each with its own nonce. A retry continues after the parts that this process has
// posted.
package discord

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/parley-wasm/parley/host/internal/delivery/part"
	"github.com/parley-wasm/parley/host/internal/delivery/post"
	"github.com/parley-wasm/parley/host/sink"
)

// DefaultBaseURL is the address of Discord's API.
const DefaultBaseURL = "https://discord.com/api/v10"

// maxText is the maximum length of a message in characters. Parts are measured in
// UTF-16 code units, which are at least as many.
const maxText = 2000

// userAgent has the form that Discord requires.
const userAgent = "DiscordBot (https://github.com/parley-wasm/parley, 1)"

// Options are the settings of a Sink.
type Options struct {
	Token     string            // of the bot; required
	BaseURL   string            // empty: DefaultBaseURL
	Transport http.RoundTripper // nil: a new one
}

// Sink posts with one bot. It is safe for concurrent use.
type Sink struct {
	client *post.Client
	base   string
	token  string
	parts  part.Progress
}

var _ sink.Sink = (*Sink)(nil)

// New checks the options and returns a sink. Nothing is sent.
func New(o *Options) (*Sink, error) {
	if o == nil || o.Token == "" {
		return nil, errors.New("discord: token is missing: create one on the application's page under Bot")
	}
	base, err := post.Base(o.BaseURL, DefaultBaseURL)
	if err != nil {
		return nil, fmt.Errorf("discord: baseUrl: %w", err)
	}
	return &Sink{client: post.NewClient("discord", o.Transport, o.Token), base: base, token: o.Token}, nil
}

// request is the body of a message. Mentions notify single users, but not roles or
// @everyone: an agent's text must not notify whole groups.
type request struct {
	Content         string   `json:"content"`
	Nonce           string   `json:"nonce"`
	EnforceNonce    bool     `json:"enforce_nonce"`
	AllowedMentions mentions `json:"allowed_mentions"`
}

type mentions struct {
	Parse []string `json:"parse"`
}

// Post posts the message, in parts if it is long. In Discord's API, a thread is a
// channel.
func (s *Sink) Post(ctx context.Context, m *sink.Message) error {
	channel := post.TrimPrefixes(m.To, "discord:", "channel:")
	if m.ThreadID != "" {
		channel = m.ThreadID
	}
	if _, err := strconv.ParseUint(channel, 10, 64); err != nil {
		return &sink.Permanent{Err: s.client.Errorf("%.60q is not a channel id: use the numeric id of a channel, a thread, or a direct-message channel", channel)}
	}
	url := s.base + "/channels/" + channel + "/messages"
	return s.parts.Post(ctx, m.IdempotencyKey, part.Split(m.Text, maxText, part.UTF16), func(ctx context.Context, position int, text string) error {
		return s.send(ctx, url, &request{
			Content: text, Nonce: nonce(m.IdempotencyKey, position), EnforceNonce: true,
			AllowedMentions: mentions{Parse: []string{"users"}},
		})
	})
}

// nonce derives a text of 24 characters from a message's idempotency key and a part's
// position. Discord accepts at most 25 characters.
func nonce(key string, position int) string {
	b := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", key, position))
	return hex.EncodeToString(b[:12])
}

// response is the part of Discord's answers that contains the outcome.
type response struct {
	ID         string  `json:"id"`   // of the message
	Code       int     `json:"code"` // of the error
	Message    string  `json:"message"`
	RetryAfter float64 `json:"retry_after"` // seconds
	Global     bool    `json:"global"`
}

func (s *Sink) send(ctx context.Context, url string, r *request) error {
	body, err := json.Marshal(r)
	if err != nil {
		return &sink.Permanent{Err: err}
	}
	a, err := s.client.JSON(ctx, url, http.Header{"Authorization": {"Bot " + s.token}, "User-Agent": {userAgent}}, body)
	if err != nil {
		return err
	}
	var answer response
	switch {
	case !a.JSON(&answer) || a.OK() && answer.ID == "":
		return a.Classify(s.client.Errorf("answered %d with an unexpected body: %s", a.Status, s.client.Excerpt(a)))
	case a.OK():
		return nil
	}
	return s.refusal(a, &answer)
}
