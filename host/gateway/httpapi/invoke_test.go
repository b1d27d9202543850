package httpapi

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
)

func ok(result string) string {
	text := strings.NewReplacer(`{"`, `{\n  \"`, `":"`, `\": \"`, `"}`, `\"\n}`).Replace(result)
	return `{"ok":true,"result":{"content":[{"type":"text","text":"` + text + `"}],"details":` + result + `}}`
}

func TestInvoke(t *testing.T) {
	t.Parallel()
	f := newFake()
	url := newServer(t, newAPI(t, f))
	const op, ops = "Authorization: Bearer op", "Authorization: Bearer ops"
	for _, c := range []struct {
		name    string
		headers []string
		body    string
		result  string // of status 200
		caller  abi.Caller
	}{
		{"the operator calls as the main session", []string{op}, `{"tool":"echo"}`, `{"who":"agent:main:home"}`,
			abi.Caller{SessionKey: "agent:main:home", AgentID: "main"}},
		{"the operator names a session", []string{op}, `{"tool":"echo","sessionKey":"main"}`, `{"who":"agent:main:home"}`,
			abi.Caller{SessionKey: "agent:main:home", AgentID: "main"}},
		{"the operator as another agent", []string{op}, `{"tool":"echo","sessionKey":"agent:Ops:main"}`, `{"who":"agent:ops:home"}`,
			abi.Caller{SessionKey: "agent:ops:home", AgentID: "ops"}},
		{"the operator as a child", []string{op}, `{"tool":"echo","sessionKey":"subagent:1"}`, `{"who":"agent:main:subagent:1"}`,
			abi.Caller{SessionKey: "agent:main:subagent:1", AgentID: "main", Depth: 1}},
		{"the operator in a channel", []string{op, "x-openclaw-message-channel: telegram ", "x-openclaw-account-id: bot"}, `{"tool":"echo"}`, `{"who":"agent:main:home"}`,
			abi.Caller{SessionKey: "agent:main:home", AgentID: "main", Channel: "telegram", AccountID: "bot"}},
		{"a session calls as itself", []string{ops}, `{"tool":"echo"}`, `{"who":"agent:ops:home"}`,
			abi.Caller{SessionKey: "agent:ops:home", AgentID: "ops", Sandboxed: true, Channel: "slack"}},
		{"a session names itself", []string{ops}, `{"tool":"echo","sessionKey":"agent:ops:main"}`, `{"who":"agent:ops:home"}`,
			abi.Caller{SessionKey: "agent:ops:home", AgentID: "ops", Sandboxed: true, Channel: "slack"}},
		{"a session cannot set its channel", []string{ops, "x-openclaw-message-channel: telegram"}, `{"tool":"echo"}`, `{"who":"agent:ops:home"}`,
			abi.Caller{SessionKey: "agent:ops:home", AgentID: "ops", Sandboxed: true, Channel: "slack"}},
		{"arguments do not affect the caller", []string{ops}, `{"tool":"echo","args":{"sessionKey":"main","caller":{"operator":true}}}`, `{"who":"agent:ops:home"}`,
			abi.Caller{SessionKey: "agent:ops:home", AgentID: "ops", Sandboxed: true, Channel: "slack"}},
		{"a failure of the tool", []string{op}, `{"tool":"echo","args":{"do":"forbidden"}}`, `{"status":"forbidden","error":"tools.sessions.visibility is tree"}`,
			abi.Caller{SessionKey: "agent:main:home", AgentID: "main"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := request{"POST", "/tools/invoke", c.headers, strings.NewReader(c.body)}.send(t, url)
			want := ok(c.result)
			if strings.Contains(c.result, "status") {
				want = `"details":` + c.result + `}}`
			}
			if r.status != 200 || !strings.HasSuffix(r.body, want) {
				t.Errorf("status %d, %s, want %s", r.status, r.body, want)
			}
			if d := cmp.Diff(c.caller, f.last().Caller); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestInvokeCall(t *testing.T) {
	t.Parallel()
	f := newFake()
	url := newServer(t, newAPI(t, f))
	headers := []string{"Authorization: Bearer op", "Idempotency-Key: call-7"}
	request{"POST", "/tools/invoke", headers, strings.NewReader(`{"tool":"act","action":"go","args":{"n": 1.50}}`)}.send(t, url)
	want := host.Call{Tool: "act", Args: []byte(`{"action":"go","n":1.50}`), Caller: abi.Caller{SessionKey: "agent:main:home", AgentID: "main"}, ID: "call-7"}
	if d := cmp.Diff(want, f.last(), ignoreWait); d != "" {
		t.Error(d)
	}
	r := request{"POST", "/tools/invoke", headers, strings.NewReader(`{"tool":"echo","action":"go","args":{"n": 1},"dryRun":true}`)}.send(t, url)
	if r.status != 200 || f.count() != 1 || !strings.HasSuffix(r.body, `"details":{"dryRun":true,"tool":"echo","args":{"n": 1},"sessionKey":"agent:main:home"}}}`) {
		t.Errorf("dry run: status %d, %d calls, %s", r.status, f.count(), r.body)
	}
}

func TestInvokeFailures(t *testing.T) {
	t.Parallel()
	f := newFake()
	url := newServer(t, newAPI(t, f))
	do := func(action string) string { return `{"tool":"echo","args":{"do":"` + action + `"}}` }
	for _, c := range []struct {
		name          string
		headers       []string // nil: the operator's token
		body          string
		status        int
		kind, message string
		called        bool
	}{
		{"no token", []string{"X-A: b"}, `{"tool":"echo"}`, 401, "unauthorized", `send the header "Authorization: Bearer <token>"`, false},
		{"wrong token", []string{"Authorization: Bearer oops"}, `{"tool":"echo"}`, 401, "unauthorized", "unknown bearer token", false},
		{"bad JSON", nil, `{"tool":`, 400, "invalid_request", "the body is not strict JSON", false},
		{"empty body", nil, ``, 400, "invalid_request", "the body is not strict JSON", false},
		{"repeated member", nil, `{"tool":"echo","args":{"limit":1,"limit":2}}`, 400, "invalid_request", "the body is not strict JSON", false},
		{"not UTF-8", nil, "{\"tool\":\"\xff\"}", 400, "invalid_request", "the body is not strict JSON", false},
		{"no tool", nil, `{}`, 400, "invalid_request", "no tool", false},
		{"wrong case", nil, `{"tool":"echo","sessionkey":"x"}`, 400, "invalid_request", `unknown member "sessionkey"`, false},
		{"unknown tool", nil, `{"tool":"rm"}`, 404, "not_found", "Tool not available: rm", false},
		{"another session", []string{"Authorization: Bearer ops"}, `{"tool":"echo","sessionKey":"agent:main:home"}`, 403, "forbidden", "this token is for session agent:ops:home only", false},
		{"key with line end", nil, `{"tool":"echo","sessionKey":"a\nb"}`, 400, "invalid_request", "sessionKey contains control characters", false},
		{"key of 10 kB", nil, `{"tool":"echo","sessionKey":"` + strings.Repeat("x", 10_000) + `"}`, 400, "invalid_request", "sessionKey is longer than 512 bytes", false},
		{"key with ..", nil, `{"tool":"echo","sessionKey":"agent:../x:main"}`, 400, "invalid_request", "invalid agent id", false},
		{"key current", nil, `{"tool":"echo","sessionKey":"current"}`, 400, "invalid_request", "reserved word", false},
		{"long call id", []string{"Authorization: Bearer op", "Idempotency-Key: " + strings.Repeat("x", 300)}, `{"tool":"echo"}`, 400, "invalid_request", "the header Idempotency-Key is longer", false},
		{"long channel", []string{"Authorization: Bearer op", "x-openclaw-message-channel: " + strings.Repeat("x", 300)}, `{"tool":"echo"}`, 400, "invalid_request", "must be UTF-8 text of at most 256 bytes", false},
		{"wrong argument", nil, do("wrong argument"), 400, "tool_error", "limit: must be a number", true},
		{"refused by the host", nil, do("refuse"), 400, "invalid_request", "the arguments are too long", true},
		{"unsupported", nil, do("unsupported"), 404, "not_found", "this host runs read-only tools", true},
		{"limit", nil, do("limit"), 500, "tool_error", "tool execution failed", true},
		{"limit of a tool that writes", nil, `{"tool":"act","args":{"do":"parked"}}`, 500, "tool_error", "flow f_1 is parked", true},
		{"conflict", nil, `{"tool":"act","args":{"do":"dropped"}}`, 409, "conflict", "flow f_1 was dropped", true},
		{"full disk", nil, `{"tool":"act","args":{"do":"full"}}`, 507, "insufficient_storage", "disk is full and nothing was accepted: send it again when there is room, with the same Idempotency-Key", true},
		{"internal", nil, do("fail"), 500, "tool_error", "tool execution failed", true},
		{"panic", nil, do("panic"), 500, "internal", "internal error", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := f.count()
			if c.headers == nil {
				c.headers = []string{"Authorization: Bearer op"}
			}
			r := request{"POST", "/tools/invoke", c.headers, strings.NewReader(c.body)}.send(t, url)
			if r.status != c.status || f.count() > before != c.called {
				t.Errorf("status %d, %d calls", r.status, f.count()-before)
			}
			isFailure(t, r, c.kind, c.message)
			if c.status == 401 && r.header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("401 with %v", r.header)
			}
		})
	}
	if r := (request{"POST", "/tools/invoke", []string{"Authorization: Bearer op"}, strings.NewReader(do("unknown session"))}).send(t, url); r.status != 200 {
		t.Errorf("a call after the failures: %d %s", r.status, r.body)
	}
}

func TestInvokeBodies(t *testing.T) {
	t.Parallel()
	const limit = 2 << 20
	f := newFake()
	url := newServer(t, newAPI(t, f))
	headers := []string{"Authorization: Bearer op"}
	fill := func(n int) []byte {
		const frame = `{"tool":"echo","args":{"x":"%s"}}`
		return fmt.Appendf(nil, frame, strings.Repeat("x", n-len(frame)+2))
	}
	if r := (request{"POST", "/tools/invoke", headers, bytes.NewReader(fill(limit))}).send(t, url); r.status != 200 {
		t.Errorf("at the limit: status %d, %.200s", r.status, r.body)
	}
	for name, body := range map[string]io.Reader{
		"with a length":    bytes.NewReader(fill(limit + 1)),
		"without a length": io.MultiReader(bytes.NewReader(fill(limit + 1))),
	} {
		t.Run(name, func(t *testing.T) {
			r := request{"POST", "/tools/invoke", headers, body}.send(t, url)
			if r.status != 413 {
				t.Errorf("status %d", r.status)
			}
			isFailure(t, r, "payload_too_large", "longer than 2097152 bytes")
		})
	}
	if f.count() != 1 {
		t.Errorf("%d calls", f.count())
	}
}

// Calls beyond MaxCalls are refused immediately, and the gateway continues to serve.
func TestTooManyCalls(t *testing.T) {
	t.Parallel()
	f := newFake()
	url := newServer(t, newAPI(t, f, maxOneCall))
	call := func(args string) response {
		return request{"POST", "/tools/invoke", []string{"Authorization: Bearer op"}, strings.NewReader(`{"tool":"echo","args":` + args + `}`)}.send(t, url)
	}
	first := make(chan response)
	go func() { first <- call(`{"do":"wait"}`) }()
	<-f.started
	r := call(`{}`)
	if isFailure(t, r, "too_many_requests", "try again"); r.status != 429 || r.header.Get("Retry-After") == "" {
		t.Errorf("a second call: %+v", r)
	}
	close(f.gate)
	if r := <-first; r.status != 200 {
		t.Errorf("the first call: %+v", r)
	}
	if r := call(`{}`); r.status != 200 {
		t.Errorf("a call after the first: %+v", r)
	}
}
