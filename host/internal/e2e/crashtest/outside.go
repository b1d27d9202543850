package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"
)

// outside is the world that no crash of the gateway touches: a model's endpoint,
// and the receivers of four kinds of sinks. Receivers that honour keys drop what
// they have seen, as the real ones do; what arrives is counted either way.
type outside struct {
	server *httptest.Server
	think  time.Duration // how long the model takes
	hold   chan struct{} // unless nil, the model answers when it is closed

	mu    sync.Mutex
	asked int
	seen  map[post]*seen
	keys  map[string]bool
}

// post is a text at a receiver.
type post struct{ receiver, text string }

// seen is how often one was.
type seen struct {
	arrived  int
	accepted int  // of these, the messages that a reader sees
	known    bool // somebody has asked for it
}

func newOutside(think time.Duration) *outside {
	o := &outside{think: think, seen: map[post]*seen{}, keys: map[string]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", o.model)
	mux.HandleFunc("POST /webhook", func(w http.ResponseWriter, r *http.Request) {
		var m struct{ Text string }
		read(r, &m)
		o.take("webhook", m.Text, r.Header.Get("Idempotency-Key"))
		reply(w, `{}`)
	})
	mux.HandleFunc("POST /discord/", func(w http.ResponseWriter, r *http.Request) {
		var m struct{ Content, Nonce string }
		read(r, &m)
		o.take("discord", m.Content, m.Nonce)
		reply(w, `{"id":"1"}`)
	})
	mux.HandleFunc("POST /telegram/", func(w http.ResponseWriter, r *http.Request) {
		var m struct{ Text string }
		read(r, &m)
		o.take("telegram", m.Text, "")
		reply(w, `{"ok":true,"result":{"message_id":1}}`)
	})
	mux.HandleFunc("POST /slack/", func(w http.ResponseWriter, r *http.Request) {
		var m struct{ Text string }
		read(r, &m)
		o.take("slack", m.Text, "")
		reply(w, `{"ok":true,"ts":"1.1"}`)
	})
	o.server = httptest.NewServer(mux)
	return o
}

func read(r *http.Request, into any) {
	if err := json.NewDecoder(r.Body).Decode(into); err != nil {
		panic(http.ErrAbortHandler)
	}
}

func reply(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, body)
}

// take counts a post; key is empty for receivers that honour none.
func (o *outside) take(receiver, text, key string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := post{receiver, text}
	if o.seen[p] == nil {
		o.seen[p] = &seen{}
	}
	o.seen[p].arrived++
	if key != "" {
		if key = receiver + " " + key; o.keys[key] {
			return
		}
		o.keys[key] = true
	}
	o.seen[p].accepted++
}

// posts returns how often a text arrived at a receiver, and how often a reader
// sees it.
func (o *outside) posts(receiver, text string) (arrived, accepted int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.seen[post{receiver, text}]
	if p == nil {
		return 0, 0
	}
	p.known = true
	return p.arrived, p.accepted
}

// others returns what was posted and never asked for.
func (o *outside) others() (all []post) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for p, s := range o.seen {
		if !s.known {
			all = append(all, p)
		}
	}
	return all
}

// counts returns how often the model was asked, and how many posts arrived.
func (o *outside) counts() (asked, posts int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range o.seen {
		posts += s.arrived
	}
	return o.asked, posts
}

// model answers a chat completion, as a stream.
func (o *outside) model(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Model    string
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	read(r, &q)
	o.mu.Lock()
	o.asked++
	o.mu.Unlock()
	select {
	case <-time.After(o.think):
	case <-r.Context().Done():
		return
	}
	if o.hold != nil {
		<-o.hold
	}
	text := ""
	if n := len(q.Messages); n > 0 {
		text = answer(plain(q.Messages[n-1].Content))
	}
	switch text {
	case broken:
		w.Header().Set("Retry-After", "3600") // so that nobody tries again
		http.Error(w, outOfOrder, http.StatusInternalServerError)
		return
	case endless:
		<-r.Context().Done()
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, chunk := range []string{
		fmt.Sprintf(`{"id":"c","object":"chat.completion.chunk","created":1,"model":%q,"choices":[{"index":0,"delta":{"role":"assistant","content":%q},"finish_reason":null}]}`, q.Model, text),
		fmt.Sprintf(`{"id":"c","object":"chat.completion.chunk","created":1,"model":%q,"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, q.Model),
		fmt.Sprintf(`{"id":"c","object":"chat.completion.chunk","created":1,"model":%q,"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}}`, q.Model),
		"[DONE]",
	} {
		_, _ = io.WriteString(w, "data: "+chunk+"\n\n")
	}
}

// plain is the text of a message's content, which is a string or a list of parts.
func plain(content json.RawMessage) string {
	var s string
	if json.Unmarshal(content, &s) == nil {
		return s
	}
	var parts []struct{ Text string }
	_ = json.Unmarshal(content, &parts) // anything else has no text
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String()
}
