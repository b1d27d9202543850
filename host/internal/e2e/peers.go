package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"
)

// Replies of a Script that make the model fail or hang.
const (
	ModelFails = "<the model fails>"
	ModelHangs = "<the model does not answer>"
)

// ModelFailure is the error text of a failing model.
const ModelFailure = "the model is out of order"

// Peers simulate the services that a gateway uses and that survive the gateway's crash: a
// model, which replies according to a script, and a channel of each kind, which records
// the posts that it receives.
type Peers struct {
	Latency time.Duration               // of the model
	Hold    chan struct{}               // unless nil, the model replies only after this is closed
	Script  func(message string) string // returns the model's reply to a message

	server   *httptest.Server
	mu       sync.Mutex
	requests int
	posts    map[post]*posted
	keys     map[string]bool
}

// post is a text posted to a channel.
type post struct{ channel, text string }

// posted counts the posts of a text to a channel.
type posted struct {
	arrived  int
	accepted int  // posts that a reader sees, without those that the channel dropped
	expected bool // Posts was called for it
}

// channels are the kinds of channels. Like the real service, a channel with keys drops a
// message whose key it has already received.
var channels = []struct {
	name, path string
	text       string // path of the text in the body
	key        func(h http.Header, body gjson.Result) string
	answer     string
}{
	{"webhook", "/webhook", "text", func(h http.Header, _ gjson.Result) string { return h.Get("Idempotency-Key") }, `{}`},
	{"discord", "/discord/", "content", func(_ http.Header, body gjson.Result) string { return body.Get("nonce").Str }, `{"id":"1"}`},
	{"telegram", "/telegram/", "text", nil, `{"ok":true,"result":{"message_id":1}}`},
	{"slack", "/slack/", "text", nil, `{"ok":true,"ts":"1.1"}`},
}

// DropsRepeats reports whether a channel drops a message whose key it has already
// received.
func DropsRepeats(channel string) bool {
	for _, c := range channels {
		if c.name == channel {
			return c.key != nil
		}
	}
	return false
}

// NewPeers returns peers. The caller must call Start.
func NewPeers(script func(message string) string) *Peers {
	return &Peers{Script: script, posts: map[post]*posted{}, keys: map[string]bool{}}
}

// Start starts the server of all peers. The caller must call Close.
func (p *Peers) Start() {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", p.model)
	for _, c := range channels {
		mux.HandleFunc("POST "+c.path, func(w http.ResponseWriter, r *http.Request) {
			body, key := read(r), ""
			if c.key != nil {
				key = c.key(r.Header, body)
			}
			p.Receive(c.name, body.Get(c.text).Str, key)
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, c.answer)
		})
	}
	p.server = httptest.NewServer(mux)
}

// Close stops the server.
func (p *Peers) Close() { p.server.Close() }

// Model returns the configuration of a runner that uses the model.
func (p *Peers) Model() map[string]any {
	return map[string]any{"kind": "openai", "baseUrl": p.server.URL + "/v1", "apiKey": "none", "model": "test"}
}

// Channels returns the configuration of all channels.
func (p *Peers) Channels() map[string]any {
	url := p.server.URL
	return map[string]any{
		"webhook":  map[string]any{"sink": "webhook", "url": url + "/webhook", "secret": "whsec_dGVzdA=="},
		"discord":  map[string]any{"sink": "discord", "baseUrl": url + "/discord", "token": "t"},
		"telegram": map[string]any{"sink": "telegram", "baseUrl": url + "/telegram", "token": "t"},
		"slack":    map[string]any{"sink": "slack", "baseUrl": url + "/slack", "token": "t"},
	}
}

func read(r *http.Request) gjson.Result {
	body, err := io.ReadAll(r.Body)
	if err != nil || !gjson.ValidBytes(body) {
		panic(http.ErrAbortHandler)
	}
	return gjson.ParseBytes(body)
}

// Receive records a post. key must be empty for channels without keys.
func (p *Peers) Receive(channel, text, key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	to := post{channel, text}
	if p.posts[to] == nil {
		p.posts[to] = &posted{}
	}
	p.posts[to].arrived++
	if key != "" {
		if key = channel + " " + key; p.keys[key] {
			return
		}
		p.keys[key] = true
	}
	p.posts[to].accepted++
}

// Posts returns how often a text arrived at a channel, and how often a reader sees it. It
// records that the text was expected.
func (p *Peers) Posts(channel, text string) (arrived, accepted int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	to := p.posts[post{channel, text}]
	if to == nil {
		return 0, 0
	}
	to.expected = true
	return to.arrived, to.accepted
}

// CheckUnexpected adds a problem for each post for which Posts was not called.
func (p *Peers) CheckUnexpected(r *Report) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for to, n := range p.posts {
		if !n.expected {
			r.Fail("unexpected post to %s: %q", to.channel, to.text)
		}
	}
}

// Counts returns the number of requests to the model, and of posts that arrived.
func (p *Peers) Counts() (requests, posts int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, to := range p.posts {
		posts += to.arrived
	}
	return p.requests, posts
}

// model serves a chat completion, as a stream.
func (p *Peers) model(w http.ResponseWriter, r *http.Request) {
	body := read(r)
	p.mu.Lock()
	p.requests++
	p.mu.Unlock()
	if Sleep(r.Context(), p.Latency) != nil {
		return
	}
	if p.Hold != nil {
		<-p.Hold
	}
	text := p.Script(lastMessage(body))
	switch text {
	case ModelFails:
		w.Header().Set("Retry-After", "3600") // so that the runner does not retry
		http.Error(w, ModelFailure, http.StatusInternalServerError)
		return
	case ModelHangs:
		<-r.Context().Done()
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	chunk := fmt.Sprintf(`data: {"id":"c","object":"chat.completion.chunk","created":1,"model":%q,"choices":`, body.Get("model").Str)
	fmt.Fprintf(w, `%s[{"index":0,"delta":{"role":"assistant","content":%q},"finish_reason":null}]}`+"\n\n", chunk, text)
	fmt.Fprintf(w, `%s[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\n", chunk)
	fmt.Fprintf(w, `%s[],"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}}`+"\n\ndata: [DONE]\n\n", chunk)
}

// lastMessage returns the text of a request's last message, which is a string or a list
// of parts.
func lastMessage(body gjson.Result) string {
	messages := body.Get("messages").Array()
	if len(messages) == 0 {
		return ""
	}
	content := messages[len(messages)-1].Get("content")
	if content.Type == gjson.String {
		return content.Str
	}
	var text strings.Builder
	for _, part := range content.Get("#.text").Array() {
		text.WriteString(part.Str)
	}
	return text.String()
}
