package openai_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"
)

// endpoint is a scripted endpoint: the n-th request gets the n-th reply, and all
// further requests get the last one.
type endpoint struct {
	url string

	mu      sync.Mutex
	replies []reply
	bodies  []gjson.Result
	headers []http.Header
}

type reply func(w http.ResponseWriter, r *http.Request, body gjson.Result)

func serve(t *testing.T, replies ...reply) *endpoint {
	e := &endpoint{replies: replies}
	s := httptest.NewServer(e)
	t.Cleanup(s.Close)
	e.url = s.URL + "/v1"
	return e
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	body := gjson.ParseBytes(raw)
	e.mu.Lock()
	n := min(len(e.bodies), len(e.replies)-1)
	e.bodies = append(e.bodies, body)
	e.headers = append(e.headers, r.Header.Clone())
	reply := e.replies[n]
	e.mu.Unlock()
	if r.Method != http.MethodPost || r.URL.Path != "/v1/chat/completions" || !gjson.ValidBytes(raw) {
		http.NotFound(w, r)
		return
	}
	reply(w, r, body)
}

// requests returns the bodies of the requests so far.
func (e *endpoint) requests() []gjson.Result {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.bodies
}

// events replies with these events and flushes each of them separately.
func events(list ...string) reply {
	return func(w http.ResponseWriter, _ *http.Request, _ gjson.Result) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		for _, e := range list {
			fmt.Fprintf(w, "data: %s\n\n", e)
			w.(http.Flusher).Flush()
		}
	}
}

// reset replies with these events and breaks the connection.
func reset(list ...string) reply {
	return func(w http.ResponseWriter, r *http.Request, body gjson.Result) {
		events(list...)(w, r, body)
		panic(http.ErrAbortHandler)
	}
}

func status(code int, header, body string) reply {
	return func(w http.ResponseWriter, _ *http.Request, _ gjson.Result) {
		if name, value, ok := strings.Cut(header, ": "); ok {
			w.Header().Set(name, value)
		}
		w.WriteHeader(code)
		io.WriteString(w, body)
	}
}

const (
	done     = "[DONE]"
	endStop  = `{"model":"real-1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	endTools = `{"model":"real-1","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`
	usage    = `{"model":"real-1","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}`
)

// text returns a chunk with a piece of the answer. Bytes that are not UTF-8 are kept.
func text(s string) string {
	quoted, _ := json.Marshal(strings.ReplaceAll(s, "\xff", "<ff>"))
	return fmt.Sprintf(`{"model":"real-1","choices":[{"index":0,"delta":{"content":%s},"finish_reason":null}],"usage":null}`,
		strings.ReplaceAll(string(quoted), `\u003cff\u003e`, "\xff"))
}

// call returns a chunk with pieces of tool calls.
func call(pieces ...string) string {
	return fmt.Sprintf(`{"choices":[{"index":0,"delta":{"tool_calls":[%s]}}]}`, strings.Join(pieces, ","))
}

// answer streams a text.
func answer(s string) reply { return events(text(s), endStop, usage, done) }
