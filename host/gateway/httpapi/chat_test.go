package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/chat"
	"github.com/parley-wasm/parley/host/store"
)

func TestChat(t *testing.T) {
	t.Parallel()
	f := newFake()
	url := newServer(t, newAPI(t, f))
	const op, ops, run, key = "Authorization: Bearer op", "Authorization: Bearer ops", "Authorization: Bearer run", "Idempotency-Key: k1"
	operator := abi.Caller{Operator: true}
	off, label, archived, unset := "deny", " big ", true, ""
	for _, c := range []struct {
		path, body string
		headers    []string
		answer     string
		want       any
	}{
		{"/v1/chat/send", `{"sessionKey":"main","message":" hi "}`, []string{op}, `{"runId":"r_1","status":"accepted"}`,
			chat.Message{SessionKey: "main", Text: " hi "}},
		{"/v1/chat/send", `{"sessionKey":"m","message":"hi","from":"7","channel":"telegram","to":"t","accountId":"a","threadId":"9"}`, []string{op, key}, `{"runId":"r_1","status":"accepted"}`,
			chat.Message{SessionKey: "m", Text: "hi", From: "7", Target: abi.Target{Channel: "telegram", To: "t", AccountID: "a", ThreadID: "9"}, RequestID: "k1"}},
		{"/v1/chat/send", `{"sessionKey":"m","message":"/send off","threadId":42,"to":null}`, []string{op}, `{"status":"ok","reply":"off now"}`,
			chat.Message{SessionKey: "m", Text: "/send off", Target: abi.Target{ThreadID: "42"}}},
		{"/v1/agent", `{"sessionKey":"m","message":"do","deliver":true,"idempotencyKey":"k2"}`, []string{op}, `{"runId":"r_2","status":"accepted"}`,
			chat.AgentRequest{SessionKey: "m", Message: "do", Deliver: true, RequestID: "k2"}},
		{"/v1/agent", `{"sessionKey":"m","message":"do"}`, []string{op, key}, `{"runId":"r_2","status":"accepted"}`,
			chat.AgentRequest{SessionKey: "m", Message: "do", RequestID: "k1"}},
		{"/v1/agent", `{"sessionKey":"m","message":"do","idempotencyKey":"k1"}`, []string{op, key}, `{"runId":"r_2","status":"accepted"}`,
			chat.AgentRequest{SessionKey: "m", Message: "do", RequestID: "k1"}},
		{"/v1/agent/wait", `{"runId":"done"}`, []string{op}, `{"runId":"done","status":"ok","reply":"hi"}`, waitArgs{operator, "done", 30 * time.Second}},
		{"/v1/agent/wait", `{"runId":"failed","timeoutMs":0}`, []string{op}, `{"runId":"failed","status":"error","error":"it broke"}`, waitArgs{operator, "failed", 0}},
		{"/v1/agent/wait", `{"runId":"killed","timeoutMs":1500.9}`, []string{op}, `{"runId":"killed","status":"error","error":"the run ended as killed"}`, waitArgs{operator, "killed", 1500 * time.Millisecond}},
		{"/v1/agent/wait", `{"runId":"running","timeoutMs":9000000000000}`, []string{op}, `{"runId":"running","status":"error","error":"the run ended as running"}`, waitArgs{operator, "running", time.Hour}},
		{"/v1/agent/wait", `{"runId":"done"}`, []string{ops}, `{"runId":"done","status":"ok","reply":"hi"}`,
			waitArgs{abi.Caller{SessionKey: "agent:ops:home", AgentID: "ops", Sandboxed: true, Channel: "slack"}, "done", 30 * time.Second}},
		{"/v1/agent/wait", `{"runId":"done"}`, []string{run}, `{"runId":"done","status":"ok","reply":"hi"}`,
			waitArgs{abi.Caller{SessionKey: "agent:ops:home", AgentID: "ops", RunID: "r_9", Hops: 1}, "done", 30 * time.Second}},
		{"/v1/agent/abort", `{"runId":"r_1","reason":"enough"}`, []string{op}, `{"runId":"r_1","status":"killed"}`, abortArgs{"r_1", "enough"}},
		{"/v1/agent/abort", `{"runId":"r_1"}`, []string{op, key}, `{"runId":"r_1","status":"killed"}`, abortArgs{"r_1", ""}},
		{"/v1/sessions/patch", `{"key":"agent:a:home","sendPolicy":"deny","label":" big ","displayName":null,"model":null,"archived":true}`, []string{op},
			`{"key":"agent:a:home","agentId":"a","kind":"main","sessionId":"s","updatedAt":1,"label":"l"}`,
			chat.Patch{Key: "agent:a:home", SendPolicy: &off, Label: &label, DisplayName: &unset, Model: &unset, Archived: &archived}},
	} {
		t.Run(c.path, func(t *testing.T) {
			r := request{"POST", c.path, c.headers, strings.NewReader(c.body)}.send(t, url)
			if r.status != 200 || r.body != c.answer {
				t.Errorf("%s: status %d, %s, want %s", c.body, r.status, r.body, c.answer)
			}
			if d := cmp.Diff(c.want, f.lastRequest()); d != "" {
				t.Errorf("%s: %s", c.body, d)
			}
		})
	}
}

// errFull is the error of a full store.
var errFull = fmt.Errorf("chat: %w", &abi.Error{Code: abi.Limit, Message: "secret.db: the disk is full", Cause: store.ErrFull})

func TestChatFailures(t *testing.T) {
	t.Parallel()
	f := newFake()
	url := newServer(t, newAPI(t, f))
	message := func(more string) string { return `{"sessionKey":"m","message":"x"` + more + `}` }
	for _, c := range []struct {
		name, path, body string
		header           string
		refuse           error
		status           int
		kind, message    string
	}{
		{"bad JSON", "/v1/agent", `{`, "", nil, 400, "invalid_request", "the body is not strict JSON"},
		{"duplicate", "/v1/agent", `{"message":"a","message":"b"}`, "", nil, 400, "invalid_request", "the body is not strict JSON"},
		{"empty name", "/v1/chat/send", `{"":1}`, "", nil, 400, "invalid_request", `unknown member ""`},
		{"not an object", "/v1/chat/send", `[]`, "", nil, 400, "invalid_request", "the body must be a JSON object"},
		{"unknown member", "/v1/chat/send", message(`,"deliver":true`), "", nil, 400, "invalid_request", `unknown member "deliver"; known are sessionKey, message, from, channel, to, accountId, threadId`},
		{"wrong case", "/v1/agent", message(`,"Deliver":true`), "", nil, 400, "invalid_request", `unknown member "Deliver"`},
		{"wrong type", "/v1/agent", message(`,"deliver":"yes"`), "", nil, 400, "invalid_request", "deliver must be true or false"},
		{"wrong type of a text", "/v1/chat/send", `{"sessionKey":5}`, "", nil, 400, "invalid_request", "sessionKey must be a string"},
		{"wrong thread", "/v1/chat/send", message(`,"threadId":1.5`), "", nil, 400, "invalid_request", "threadId must be a string"},
		{"long body", "/v1/agent", strings.Repeat(" ", 3<<20), "", nil, 413, "payload_too_large", "longer than 2097152 bytes"},
		{"bad key", "/v1/agent", message(`,"idempotencyKey":"a b"`), "", nil, 400, "invalid_request", "idempotencyKey has characters"},
		{"bad header", "/v1/chat/send", message(""), strings.Repeat("x", 300), nil, 400, "invalid_request", "the header Idempotency-Key is longer than 256 bytes"},
		{"two keys", "/v1/agent", message(`,"idempotencyKey":"a"`), "b", nil, 400, "invalid_request", "idempotencyKey and the header Idempotency-Key differ"},
		{"no run", "/v1/agent/wait", `{}`, "", nil, 400, "invalid_request", "runId is required"},
		{"abort without a run", "/v1/agent/abort", `{"reason":"x"}`, "", nil, 400, "invalid_request", "runId is required"},
		{"reason is a number", "/v1/agent/abort", `{"runId":"r_1","reason":1}`, "", nil, 400, "invalid_request", "reason must be a string"},
		{"abort of an unknown run", "/v1/agent/abort", `{"runId":"r_2"}`, "", abi.NewError(abi.NotFound, `there is no run "r_2"`), 404, "not_found", "there is no run"},
		{"abort of an ended run", "/v1/agent/abort", `{"runId":"r_1"}`, "", abi.NewError(abi.Conflict, "run r_1 has ended already, as done"), 409, "conflict", "has ended already, as done"},
		{"negative timeout", "/v1/agent/wait", `{"runId":"done","timeoutMs":-1}`, "", nil, 400, "invalid_request", "timeoutMs must be a non-negative number"},
		{"timeout is a text", "/v1/agent/wait", `{"runId":"done","timeoutMs":"5"}`, "", nil, 400, "invalid_request", "timeoutMs must be a non-negative number"},
		{"no session", "/v1/sessions/patch", `{"label":"x"}`, "", nil, 400, "invalid_request", "key is required"},
		{"archived is null", "/v1/sessions/patch", `{"key":"x","archived":null}`, "", nil, 400, "invalid_request", "archived must be true or false"},
		{"blank policy", "/v1/sessions/patch", `{"key":"x","sendPolicy":" "}`, "", nil, 400, "invalid_request", "sendPolicy must be a string that is not blank; null unsets it"},
		{"policy is a number", "/v1/sessions/patch", `{"key":"x","sendPolicy":1}`, "", nil, 400, "invalid_request", "sendPolicy must be a string"},
		{"invalid", "/v1/agent", message(""), "", abi.NewError(abi.InvalidArgs, "no such form"), 400, "invalid_request", "no such form"},
		{"not found", "/v1/chat/send", message(""), "", abi.NewError(abi.NotFound, "no session m"), 404, "not_found", "no session m"},
		{"forbidden", "/v1/chat/send", message(""), "", abi.NewError(abi.Forbidden, "send policy"), 403, "forbidden", "send policy"},
		{"conflict", "/v1/agent", message(""), "", fmt.Errorf("x: %w", abi.NewError(abi.Conflict, "used before")), 409, "conflict", "used before"},
		{"limit", "/v1/agent", message(""), "", abi.NewError(abi.Limit, "too many queued"), 429, "too_many_requests", "too many queued"},
		{"full disk", "/v1/agent", message(""), "", errFull, 507, "insufficient_storage", "disk is full and nothing was accepted: send it again when there is room, with the same Idempotency-Key"},
		{"internal", "/v1/agent", message(""), "", abi.NewError(abi.Internal, "secret detail"), 500, "tool_error", "the gateway's log has the details"},
		{"not an abi.Error", "/v1/sessions/patch", `{"key":"x"}`, "", errors.New("secret detail"), 500, "tool_error", "the gateway's log has the details"},
		{"another's run", "/v1/agent/wait", `{"runId":"done"}`, "", abi.NewError(abi.Forbidden, "another started it"), 403, "forbidden", "another started it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f.refuse = c.refuse
			headers := []string{"Authorization: Bearer op"}
			if c.header != "" {
				headers = append(headers, "Idempotency-Key: "+c.header)
			}
			r := request{"POST", c.path, headers, strings.NewReader(c.body)}.send(t, url)
			if r.status != c.status {
				t.Errorf("status %d", r.status)
			}
			isFailure(t, r, c.kind, c.message)
		})
	}
}

func TestChatHistory(t *testing.T) {
	t.Parallel()
	f := newFake()
	url := newServer(t, newAPI(t, f))
	send := func(token, body string) response {
		return request{"POST", "/v1/chat/history", []string{"Authorization: Bearer " + token}, strings.NewReader(body)}.send(t, url)
	}
	for token, who := range map[string]string{"op": "operator", "ops": "agent:ops:home", "run": "agent:ops:home"} {
		r := send(token, `{"sessionKey":"main","limit":5.5}`)
		if r.status != 200 || r.body != `{"who":"`+who+`"}` {
			t.Errorf("%s: %d %s", token, r.status, r.body)
		}
		if c := f.last(); c.Tool != "sessions_history" || string(c.Args) != `{"sessionKey":"main","limit":5.5}` {
			t.Errorf("%s: called %s %s", token, c.Tool, c.Args)
		}
	}
	send("op", `{"limit":null}`)
	if got := string(f.last().Args); got != `{}` {
		t.Errorf("the tool was called with %s, want {}", got)
	}
	for code, want := range map[abi.Code]struct {
		status int
		kind   string
	}{
		abi.InvalidArgs: {400, "invalid_request"}, abi.NotFound: {404, "not_found"}, abi.Forbidden: {403, "forbidden"},
	} {
		f.code = code
		r := send("op", `{"sessionKey":"x"}`)
		if r.status != want.status {
			t.Errorf("%s: status %d", code, r.status)
		}
		isFailure(t, r, want.kind, "the tool says "+string(code))
	}
}

// The operator's endpoints refuse sessions and runs before they parse the body, with a
// hint about what to do instead.
func TestOperatorEndpoints(t *testing.T) {
	t.Parallel()
	f := newFake()
	url := newServer(t, newAPI(t, f))
	for _, path := range []string{"/v1/chat/send", "/v1/agent", "/v1/agent/abort", "/v1/sessions/patch"} {
		for _, token := range []string{"ops", "run"} {
			r := request{"POST", path, []string{"Authorization: Bearer " + token}, strings.NewReader(`{`)}.send(t, url)
			if r.status != 403 {
				t.Errorf("%s with %s: status %d", path, token, r.status)
			}
			isFailure(t, r, "forbidden", "requires the operator's token, and this token is for session agent:ops:home; use the operator's token, or the session tools at /tools/invoke")
		}
		if r := (request{"POST", path, nil, nil}).send(t, url); r.status != 401 {
			t.Errorf("%s without a token: status %d", path, r.status)
		}
	}
	if f.lastRequest() != nil {
		t.Errorf("the host was called: %+v", f.lastRequest())
	}
}

// A client with the token of a run is always that run.
func TestRunToken(t *testing.T) {
	t.Parallel()
	f := newFake()
	url := newServer(t, newAPI(t, f))
	headers := []string{"Authorization: Bearer run", "x-openclaw-message-channel: telegram"}
	want := abi.Caller{SessionKey: "agent:ops:home", AgentID: "ops", RunID: "r_9", Hops: 1}
	for _, body := range []string{`{"tool":"echo"}`, `{"tool":"echo","sessionKey":"agent:ops:main"}`} {
		if r := (request{"POST", "/tools/invoke", headers, strings.NewReader(body)}).send(t, url); r.status != 200 {
			t.Errorf("%s: %d %s", body, r.status, r.body)
		}
		if d := cmp.Diff(want, f.last().Caller); d != "" {
			t.Error(d)
		}
	}
	n := f.count()
	r := request{"POST", "/tools/invoke", headers, strings.NewReader(`{"tool":"echo","sessionKey":"agent:main:home"}`)}.send(t, url)
	if r.status != 403 || f.count() != n {
		t.Errorf("as another session: status %d, %d calls", r.status, f.count()-n)
	}
	isFailure(t, r, "forbidden", "this token is for session agent:ops:home only")
}

func TestWithoutChat(t *testing.T) {
	t.Parallel()
	var with *Options
	newAPI(t, newFake(), func(o *Options) { with = o })
	without, err := New(&Options{Tools: newFake(), Tokens: with.Tokens, Keys: with.Keys})
	if err != nil {
		t.Fatal(err)
	}
	defer without.Close()
	r := request{"POST", "/v1/agent", []string{"Authorization: Bearer op"}, strings.NewReader(`{}`)}.send(t, newServer(t, without))
	if r.status != 404 {
		t.Errorf("status %d", r.status)
	}
	isFailure(t, r, "not_found", "this gateway serves /healthz, /mcp, /tools/invoke, /v1/chat/history")
}

// Failures that the client can fix are logged as info, failures that only the operator
// can fix as errors.
func TestLogLevels(t *testing.T) {
	t.Parallel()
	for want, errs := range map[string][]error{
		"INFO":  {abi.NewError(abi.Forbidden, "send policy"), abi.NewError(abi.Limit, "too many")},
		"ERROR": {errors.New("io error"), abi.NewError(abi.Internal, "x"), errFull, context.Canceled, context.DeadlineExceeded},
	} {
		for _, err := range errs {
			f := newFake()
			f.refuse = err
			var log strings.Builder
			a := newAPI(t, f)
			a.logger = slog.New(slog.NewTextHandler(&log, nil))
			request{"POST", "/v1/agent", []string{"Authorization: Bearer op"}, strings.NewReader(`{"sessionKey":"m","message":"x"}`)}.send(t, newServer(t, a))
			if !strings.Contains(log.String(), "level="+want+` msg="httpapi: request failed"`) {
				t.Errorf("%v: the log says %q", err, &log)
			}
		}
	}
}
