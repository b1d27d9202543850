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

// What the script of the model may answer instead of a text.
const (
	ModelFails = "<the model fails>"
	ModelHangs = "<the model does not answer>"
)

// ModelFailure is the error text of a model that fails.
const ModelFailure = "the model is out of order"

// Peers is what a gateway talks to, and what outlives its crashes: a model's endpoint, which
// answers by a script, and a channel of each kind, which records what is posted to it.
type Peers struct {
	Think  time.Duration               // how long the model takes
	Hold   chan struct{}               // unless nil, the model answers when this is closed
	Script func(message string) string // the model's answer to a message

	server *httptest.Server
	mu     sync.Mutex
	asked  int
	posts  map[post]*posted
	keys   map[string]bool
}

// post is a text at a channel.
type post struct{ channel, text string }

// posted is how often a text was posted to a channel.
type posted struct {
	arrived  int
	accepted int  // of these, the messages that a reader sees
	expected bool // Posts was asked for it
}

// channels are the kinds of channels. A channel with a key drops a message whose key
// it has seen, as the real service does.
var channels = []struct {
	name, path string
	text       string // where the text is in the body
	key        func(h http.Header, body gjson.Result) string
	answer     string
}{
	{"webhook", "/webhook", "text", func(h http.Header, _ gjson.Result) string { return h.Get("Idempotency-Key") }, `{}`},
	{"discord", "/discord/", "content", func(_ http.Header, body gjson.Result) string { return body.Get("nonce").Str }, `{"id":"1"}`},
	{"telegram", "/telegram/", "text", nil, `{"ok":true,"result":{"message_id":1}}`},
	{"slack", "/slack/", "text", nil, `{"ok":true,"ts":"1.1"}`},
}

// DropsRepeats reports whether a channel drops a message whose key it has seen.
func DropsRepeats(channel string) bool {
	for _, c := range channels {
		if c.name == channel {
			return c.key != nil
		}
	}
	return false
}

// NewPeers returns peers whose server is not started yet.
func NewPeers(script func(message string) string) *Peers {
	return &Peers{Script: script, posts: map[post]*posted{}, keys: map[string]bool{}}
}

// Start starts their server. The caller must call Close.
func (p *Peers) Start() {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", p.model)
	for _, c := range channels {
		mux.HandleFunc("POST "+c.path, func(w http.ResponseWriter, r *http.Request) {
			body, key := read(r), ""
			if c.key != nil {
				key = c.key(r.Header, body)
			}
			p.Take(c.name, body.Get(c.text).Str, key)
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, c.answer)
		})
	}
	p.server = httptest.NewServer(mux)
}

// Close ends the server.
func (p *Peers) Close() { p.server.Close() }

// Model is the configuration of a runner that asks the model.
func (p *Peers) Model() map[string]any {
	return map[string]any{"kind": "openai", "baseUrl": p.server.URL + "/v1", "apiKey": "none", "model": "test"}
}

// Channels is the configuration of all channels.
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

// Take records a post; key is empty for channels that have none.
func (p *Peers) Take(channel, text, key string) {
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

// Posts returns how often a text arrived at a channel, and how often a reader sees it.
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

// FailUnexpected fails for each post that Posts was not asked for.
func (p *Peers) FailUnexpected(r *Report) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for to, was := range p.posts {
		if !was.expected {
			r.Fail("unexpected post to %s: %q", to.channel, to.text)
		}
	}
}

// Counts returns how often the model was asked, and how many posts arrived.
func (p *Peers) Counts() (asked, posts int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, to := range p.posts {
		posts += to.arrived
	}
	return p.asked, posts
}

// model answers a chat completion, as a stream.
func (p *Peers) model(w http.ResponseWriter, r *http.Request) {
	body := read(r)
	p.mu.Lock()
	p.asked++
	p.mu.Unlock()
	if Sleep(r.Context(), p.Think) != nil {
		return
	}
	if p.Hold != nil {
		<-p.Hold
	}
	text := p.Script(lastMessage(body))
	switch text {
	case ModelFails:
		w.Header().Set("Retry-After", "3600") // so that the runner does not try again
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
