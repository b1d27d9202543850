package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/gateway/auth"
)

// fake answers as its arguments' "do" says, by default with who called.
type fake struct {
	mu    sync.Mutex
	calls []host.Call

	started chan struct{} // receives when a "wait" begins
	gate    chan struct{} // ends every "wait" when closed
	ended   chan error    // how a "wait" ended
}

func newFake() *fake {
	return &fake{started: make(chan struct{}, 8), gate: make(chan struct{}), ended: make(chan error, 8)}
}

var _ Tools = (*fake)(nil)

func (f *fake) Tools() []abi.Tool {
	out := []byte(`{"type":"object"}`)
	return []abi.Tool{
		{Name: "echo", Description: "Echoes.", InputSchema: []byte(`{"type":"object"}`), OutputSchema: out, ReadOnly: true, Needs: []string{"session"}},
		{Name: "act", InputSchema: []byte(`{"type":"object","properties":{"action":{"type":"string"}}}`), OutputSchema: out},
	}
}

func (f *fake) Call(ctx context.Context, c *host.Call) (*host.Answer, error) {
	f.mu.Lock()
	f.calls = append(f.calls, *c)
	f.mu.Unlock()
	var args struct{ Do string }
	if len(c.Args) > 0 {
		if err := json.Unmarshal(c.Args, &args); err != nil {
			return nil, abi.NewError(abi.InvalidArgs, err.Error())
		}
	}
	result := func(code abi.Code, status, text string) (*host.Answer, error) {
		return &host.Answer{CallID: "made", Result: []byte(`{"status":"` + status + `","error":"` + text + `"}`), Code: code}, nil
	}
	switch args.Do {
	case "wrong argument":
		return result(abi.InvalidArgs, "error", "limit: must be a number")
	case "unknown session":
		return result(abi.NotFound, "error", "no such session")
	case "forbidden":
		return result(abi.Forbidden, "forbidden", "tools.sessions.visibility is tree")
	case "limit":
		return nil, abi.NewError(abi.Limit, "step: secret detail")
	case "fail":
		return nil, errors.New("secret detail")
	case "refuse":
		return nil, abi.NewError(abi.InvalidArgs, "the arguments are too long")
	case "unsupported":
		return nil, abi.NewError(abi.Unsupported, "this host runs read-only tools")
	case "panic":
		panic("secret detail")
	case "wait":
		f.started <- struct{}{}
		select {
		case <-f.gate:
			f.ended <- nil
		case <-ctx.Done():
			f.ended <- ctx.Err()
			return nil, ctx.Err()
		}
	}
	who := "operator"
	if !c.Caller.Operator {
		who = c.Caller.SessionKey
	}
	return &host.Answer{CallID: "made", Result: []byte(`{"who":"` + who + `"}`)}, nil
}

func (f *fake) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.calls)
}

func (f *fake) last() host.Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[len(f.calls)-1]
}

// newAPI makes an API with a token for the operator, "op", and one for the
// sandboxed session agent:ops:home, "ops".
func newAPI(t *testing.T, f *fake) *API {
	t.Helper()
	tokens, _, err := auth.New([]config.Token{
		{Secret: "op", Operator: true},
		{Secret: "ops", Caller: config.Caller{SessionKey: "agent:ops:home", AgentID: "ops", Sandboxed: true, Channel: "slack"}},
	}, "")
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(&Options{
		Tools: f, Tokens: tokens, Name: "parley", Version: "1.2.3",
		Keys:   func() sessionkey.Settings { return sessionkey.Settings{MainKey: "home"} },
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

func newServer(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// request is one exchange. Headers are "Name: value".
type request struct {
	method, path string
	headers      []string
	body         io.Reader
}

type response struct {
	status int
	header http.Header
	body   string
}

func (q request) send(t *testing.T, url string) response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), q.method, url+q.path, q.body)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range q.headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			r.Host = value
		} else {
			r.Header.Add(name, value)
		}
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response{resp.StatusCode, resp.Header, string(body)}
}

// isFailure checks that a body is a failure of the type, in OpenClaw's shape.
func isFailure(t *testing.T, r response, kind, message string) {
	t.Helper()
	var f struct {
		OK    *bool
		Error struct{ Type, Message string }
	}
	if err := json.Unmarshal([]byte(r.body), &f); err != nil {
		t.Fatalf("%v in %s", err, r.body)
	}
	if f.OK == nil || *f.OK || f.Error.Type != kind || !strings.Contains(f.Error.Message, message) || r.header.Get("Content-Type") != "application/json" {
		t.Errorf("got %s (%s), want %s and %q", r.body, r.header.Get("Content-Type"), kind, message)
	}
	if strings.Contains(r.body, "secret") {
		t.Errorf("the answer tells details: %s", r.body)
	}
}
