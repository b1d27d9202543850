package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/gateway"
	"github.com/parley-wasm/parley/host/gateway/local"
	"github.com/parley-wasm/parley/host/internal/chat"
	"github.com/parley-wasm/parley/host/internal/importer"
	"github.com/parley-wasm/parley/host/store"
)

// fake is a gateway.Operator and gateway.Chat. Its tools act as the argument "do" says;
// by default they answer with the caller.
type fake struct {
	work
	mu           sync.Mutex
	calls        []host.Call
	flows        map[string]bool // ids of calls with the action "flow"
	flowsStarted int             // number of distinct ids in flows
	chats        []any           // arguments of Send, StartAgent, PatchSession, AbortRun and WaitRun
	refuse       error           // error that these methods return
	code         abi.Code        // code of every answer, if set

	started chan struct{} // receives when a "wait" or "flow" starts to wait
	gate    chan struct{} // ends every wait when closed
	ended   chan error    // receives the error of each ended wait
}

func newFake() *fake {
	return &fake{started: make(chan struct{}, 8), gate: make(chan struct{}), ended: make(chan error, 8), flows: map[string]bool{}}
}

var _ gateway.Operator = (*fake)(nil)

// waitArgs are the arguments of WaitRun.
type waitArgs struct {
	Caller  abi.Caller
	RunID   string
	Timeout time.Duration
}

// abortArgs are the arguments of AbortRun.
type abortArgs struct{ RunID, Why string }

// AbortRun records its arguments.
func (f *fake) AbortRun(ctx context.Context, id, why string) (*store.Run, error) {
	if err := f.record(abortArgs{id, why}); err != nil {
		return nil, err
	}
	return f.work.AbortRun(ctx, id, why)
}

func (f *fake) record(args any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.chats = append(f.chats, args)
	return f.refuse
}

func (f *fake) lastRequest() any {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.chats) == 0 {
		return nil
	}
	return f.chats[len(f.chats)-1]
}

func (f *fake) Send(_ context.Context, m *chat.Message) (*chat.Accepted, error) {
	if err := f.record(*m); err != nil {
		return nil, err
	}
	if m.Text == "/send off" {
		return &chat.Accepted{Status: "ok", Reply: "off now"}, nil
	}
	return &chat.Accepted{RunID: "r_1", Status: "accepted"}, nil
}

func (f *fake) StartAgent(_ context.Context, r *chat.AgentRequest) (*chat.Accepted, error) {
	return &chat.Accepted{RunID: "r_2", Status: "accepted"}, f.record(*r)
}

func (f *fake) PatchSession(_ context.Context, p *chat.Patch) (*abi.Session, error) {
	return &abi.Session{Key: p.Key, AgentID: "a", Kind: "other", SessionID: "s", UpdatedAt: 1, Label: "l"}, f.record(*p)
}

// WaitRun returns a run whose status is the given id.
func (f *fake) WaitRun(ctx context.Context, c abi.Caller, id string, timeout time.Duration) (*store.Run, error) {
	if err := f.record(waitArgs{c, id, timeout}); err != nil {
		return nil, err
	}
	r := &store.Run{ID: id, Status: id, EndedAt: 5, Reply: "hi"}
	switch id {
	case abi.RunFailed:
		r.Error = "it broke"
	case abi.RunQueued:
		r.EndedAt = 0
		f.started <- struct{}{}
		select {
		case <-f.gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return r, nil
}

func (f *fake) Tools() []abi.Tool {
	out := []byte(`{"type":"object"}`)
	return []abi.Tool{
		{Name: "echo", Description: "Echoes.", InputSchema: []byte(`{"type":"object"}`), OutputSchema: out, ReadOnly: true, Needs: []string{"session"}},
		{Name: "act", InputSchema: []byte(`{"type":"object","properties":{"action":{"type":"string"}}}`), OutputSchema: out},
	}
}

// ToolsFor omits "act" for the runs of children.
func (f *fake) ToolsFor(_ context.Context, c abi.Caller) ([]abi.Tool, error) {
	return slices.DeleteFunc(f.Tools(), func(t abi.Tool) bool { return c.RunID != "" && c.Depth > 0 && t.Name == "act" }), nil
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
	case "full":
		return nil, errFull
	case "fail":
		return nil, errors.New("secret detail")
	case "parked":
		return nil, abi.NewError(abi.Limit, "flow f_1 is parked")
	case "dropped":
		return nil, abi.NewError(abi.Conflict, "flow f_1 was dropped")
	case "refuse":
		return nil, abi.NewError(abi.InvalidArgs, "the arguments are too long")
	case "unsupported":
		return nil, abi.NewError(abi.Unsupported, "this host runs read-only tools")
	case "panic":
		panic("secret detail")
	case "flow": // continues without its caller; a call with the same id joins it
		f.mu.Lock()
		if !f.flows[c.ID] {
			f.flows[c.ID] = true
			f.flowsStarted++
		}
		f.mu.Unlock()
		c.Wait.Suspend()
		defer c.Wait.Resume()
		fallthrough
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
	if f.code != "" {
		return result(f.code, "error", "the tool says "+string(f.code))
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

// runs maps the tokens of runs to their callers.
type runs map[string]abi.Caller

func (r runs) Identify(token string) (abi.Caller, bool) {
	c, ok := r[token]
	return c, ok
}

func (f *fake) Keys() sessionkey.Settings { return sessionkey.Settings{MainKey: "home"} }

func (f *fake) Status() *local.Status {
	return &local.Status{Info: local.Info{PID: 7}, Config: "/c.json5", Keys: f.Keys(), Plugin: local.Plugin{Name: "parley", Version: "1.2.3"}}
}

// Import accepts only the directory "/full".
func (f *fake) Import(_ context.Context, dir string, progress func(importer.Progress)) (*importer.Report, error) {
	progress(importer.Progress{Done: 1, Total: 9})
	if dir != "/full" {
		return nil, abi.NewError(abi.NotFound, "there is no "+dir)
	}
	return &importer.Report{Dir: dir}, nil
}

// newAPI makes an API with the tokens "op" of the operator, "ops" of the sandboxed session
// agent:ops:home, and "run" of a run in that session.
func newAPI(t *testing.T, f *fake, change ...func(*Options)) *API {
	t.Helper()
	tokens, _, err := gateway.NewTokens([]config.Token{
		{Secret: "op", Operator: true},
		{Secret: "ops", Caller: config.Caller{SessionKey: "agent:ops:home", AgentID: "ops", Sandboxed: true, Channel: "slack"}},
	}, "")
	if err != nil {
		t.Fatal(err)
	}
	tokens.AcceptRuns(runs{"run": {SessionKey: "agent:ops:home", AgentID: "ops", RunID: "r_9", Hops: 1}})
	o := &Options{
		Tools: f, Chat: f, Plugins: f, Tokens: tokens,
		About: func() (name, version string) { return "parley", "1.2.3" },
		Keys:  f.Keys, Logger: slog.New(slog.DiscardHandler),
	}
	for _, fn := range change {
		fn(o)
	}
	a, err := New(o)
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

// request is an HTTP request. Headers have the form "Name: value".
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

// isFailure checks that a body is a failure in OpenClaw's format, of this kind and with
// this message, and reveals no secret.
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
		t.Errorf("the answer reveals details: %s", r.body)
	}
}
