package httpapi

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/store"
)

// These tests try known sandbox escapes, from a program that executes a child's runs and
// from clients with a token.

// fullAccess is the settings that let every session without a sandbox see all others.
const fullAccess = `
  tools: { sessions: { visibility: "all" }, agentToAgent: { enabled: true }, subagents: { tools: { allow: ["*"] } } },
`

// putSessions stores these sessions, and the sessions agent:main:main and agent:ops:main.
func (v *testGateway) putSessions(rows ...abi.Session) {
	v.t.Helper()
	rows = append(rows, abi.Session{Key: "agent:main:main", SessionID: "m"}, abi.Session{Key: "agent:ops:main", SessionID: "o"})
	err := v.db.Update(v.t.Context(), func(tx store.Tx) error {
		for i := range rows {
			rows[i].UpdatedAt = 1
			if err := tx.PutSession(&rows[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		v.t.Fatal(err)
	}
}

// notVisible is the error for a session that a sandboxed caller may not see.
const notVisible = `forbidden: session "agent:ops:main" is not visible here: this session is sandboxed and agents.defaults.sandbox.sessionToolsVisibility is "spawned": only this session and the sessions it spawned are visible`

// fakeModel serves a model that spawns a child under ops and then replies "done".
func fakeModel(t *testing.T) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		message, why := `{"content":"done"}`, "stop"
		if gjson.GetBytes(body, "messages.@reverse.0.role").Str == "user" {
			why, message = "tool_calls", `{"tool_calls":[{"index":0,"id":"1","type":"function","function":{"name":"sessions_spawn","arguments":"{\"task\":\"look\",\"agentId\":\"ops\",\"announce\":\"none\"}"}}]}`
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%q}]}\n\ndata: [DONE]\n\n", message, why)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

// A sandboxed session spawns a child under an agent with another kind of runner: a
// program with its own environment and token. The token identifies the child's run, which
// is sandboxed over HTTP and over MCP, whatever runner executes it. The environment tells
// the program that it is sandboxed, so that it can apply a sandbox too (S5.2).
func TestChildWithOtherRunnerStaysSandboxed(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for kind, runner := range map[string]string{
		"script": `{ kind: "script", replies: [{ tool: "sessions_spawn", args: { task: "look", agentId: "ops", announce: "none" }, text: "done" }] }`,
		"openai": `{ kind: "openai", model: "m", baseUrl: "` + fakeModel(t) + `" }`,
	} {
		t.Run(kind, func(t *testing.T) {
			v := startGateway(t, `{`+fullAccess+`
			  agents: { list: [
			    { id: "main", default: true, sandbox: { mode: "all" }, subagents: { allowAgents: ["*"] }, runner: `+runner+` },
			    { id: "ops", sandbox: { mode: "off" }, runner: { kind: "command", argv: ["`+self+`", "probe"], env: { GORACE: "atexit_sleep_ms=0" } } },
			  ] },
			}`, func(o *host.Options) { o.Runners = nil })
			v.putSessions()
			wait := func(id string) *store.Run {
				t.Helper()
				r, err := v.host.WaitRun(t.Context(), abi.Caller{Operator: true}, id, time.Minute)
				if err != nil || r.Status != abi.RunDone {
					t.Fatalf("%+v, %v", r, err)
				}
				return r
			}
			start := func(session string) string {
				t.Helper()
				r := v.post("op", "/v1/agent", `{"sessionKey":"`+session+`","message":"go"}`)
				return gjson.Get(r.body, "runId").Str
			}
			wait(start("agent:main:main"))
			runs, err := v.host.Runs(t.Context(), &store.Filter{})
			if err != nil || len(runs) != 2 || runs[0].Group != abi.GroupSubagent {
				t.Fatalf("%d runs, %v; want the parent's and its child's", len(runs), err)
			}
			child := runs[0].SessionKey
			want := "sandboxed \"1\"\n"
			for _, transport := range []string{"http", "mcp"} {
				want += transport + " sessions_list " + child + "\n" + transport + " sessions_history " + notVisible + "\n" + transport + " sessions_send " + notVisible + "\n"
			}
			if got := wait(runs[0].ID).Reply; got != strings.TrimSpace(want) {
				t.Errorf("the child's program sees\n%s\nwant\n%s", got, want)
			}
			if got := wait(start(child)).Reply; got != strings.TrimSpace(want) { // a later run
				t.Errorf("in a later run the child's program sees\n%s\nwant\n%s", got, want)
			}
			if got := wait(start("agent:ops:main")).Reply; !strings.HasPrefix(got, "sandboxed \"\"\n") || strings.Contains(got, "forbidden") || !strings.Contains(got, child+" main") {
				t.Errorf("the same program without a sandbox sees\n%s", got)
			}
		})
	}
}

// A sandboxed session of agent main, and its child under ops, whose own agent setting
// disables the sandbox.
const (
	sandboxedSession = "agent:main:boxed"
	sandboxedChild   = "agent:ops:subagent:1"
)

// A sandboxed caller tries every entry point with its token: calls over HTTP and MCP,
// another session's key in the body, in a header or in the arguments, histories, and the
// operator's endpoints. Every entry point derives the caller from the token, and the
// sandbox from the caller's session.
func TestSandboxAppliesAtAllEntryPoints(t *testing.T) {
	t.Parallel()
	v := startGateway(t, `{`+fullAccess+`
	  agents: { list: [
	    { id: "main", default: true, sandbox: { mode: "non-main" }, subagents: { allowAgents: ["*"] } },
	    { id: "ops", sandbox: { mode: "off" } },
	  ] },
	  gateway: { tokens: [
	    { token: "boxed", caller: { sessionKey: "`+sandboxedSession+`" } },
	    { token: "ops-box", caller: { sessionKey: "agent:ops:box", sandboxed: true } },
	    { token: "child", caller: { sessionKey: "`+sandboxedChild+`" } },
	    { token: "free", caller: { sessionKey: "agent:ops:main" } },
	  ] },
	}`)
	v.putSessions(abi.Session{Key: sandboxedSession, SessionID: "b"}, abi.Session{Key: "agent:ops:box", SessionID: "x"},
		abi.Session{Key: sandboxedChild, SessionID: "bc", SpawnedBy: sandboxedSession, Sandboxed: true})
	other := gjson.Get(v.post("op", "/v1/agent", `{"sessionKey":"agent:ops:main","message":"go"}`).body, "runId").Str
	<-v.tokens
	for _, c := range []struct{ name, token, own, sees string }{
		{"a sandboxed session", "boxed", sandboxedSession, sandboxedSession + " " + sandboxedChild},
		{"a session whose token is sandboxed", "ops-box", "agent:ops:box", "agent:ops:box"},
		{"a child of a sandboxed session", "child", sandboxedChild, sandboxedChild},
		{"the run of a sandboxed session", v.run(sandboxedSession), sandboxedSession, sandboxedSession + " " + sandboxedChild},
		{"the run of its child", v.run(sandboxedChild), sandboxedChild, sandboxedChild},
	} {
		t.Run(c.name, func(t *testing.T) { v.testEntryPoints(t, c.token, c.own, c.sees, other) })
	}
	// The operator acting as one of these sessions has the same restrictions.
	r := v.post("op", "/tools/invoke", `{"tool":"sessions_list","sessionKey":"`+sandboxedChild+`"}`)
	if got := summary(gjson.Get(r.body, "result.details")); got != sandboxedChild {
		t.Errorf("the operator as the child sees %s", got)
	}
	// A session without a sandbox has access.
	for _, c := range probeCalls {
		for name, call := range map[string]func(string, bearer, string, string) (string, error){"http": overHTTP, "mcp": overMCP} {
			if got, err := call(v.url, "free", c[0], c[1]); err != nil || strings.Contains(got, "forbidden") {
				t.Errorf("without a sandbox: %s over %s: %s, %v", c[0], name, got, err)
			}
		}
	}
}

// testEntryPoints tries every entry point with a token of the session own, which may see
// only the sessions in sees. other is the run of another session.
func (v *testGateway) testEntryPoints(t *testing.T, token, own, sees, other string) {
	invoke := func(body string, headers ...string) response {
		t.Helper()
		return request{"POST", "/tools/invoke", append(headers, "Authorization: Bearer "+token), strings.NewReader(body)}.send(t, v.url)
	}
	for _, c := range probeCalls {
		want := notVisible
		if c[0] == abi.ToolList {
			want = sees
		}
		for name, call := range map[string]func(string, bearer, string, string) (string, error){"http": overHTTP, "mcp": overMCP} {
			if got, err := call(v.url, bearer(token), c[0], c[1]); err != nil || got != want {
				t.Errorf("%s over %s: %s, %v; want %s", c[0], name, got, err, want)
			}
		}
	}
	// Acting as another session, or as a session without a sandbox.
	for _, name := range []string{"agent:ops:main", "agent:main:main", "agent:OPS:main", "agent:main:subagent:2"} {
		r := invoke(`{"tool":"sessions_list","sessionKey":"` + name + `"}`)
		if r.status != http.StatusForbidden || !strings.Contains(r.body, "this token is for session "+own+" only") {
			t.Errorf("as %s: %d %s", name, r.status, r.body)
		}
		if _, err := overMCP(v.url, bearer(token+" "+name), abi.ToolList, `{}`); err == nil {
			t.Errorf("over MCP as %s: answered", name)
		}
		r = invoke(`{"tool":"sessions_list"}`, HeaderSession+": "+name)
		if got := summary(gjson.Get(r.body, "result.details")); got != sees {
			t.Errorf("with %s in a header: %d %s", name, r.status, r.body)
		}
	}
	if r := invoke(`{"tool":"sessions_list","sessionKey":"` + own + `"}`); summary(gjson.Get(r.body, "result.details")) != sees {
		t.Errorf("as itself: %d %s", r.status, r.body)
	}
	for _, args := range []string{`{"sandboxed":false}`, `{"caller":{"operator":true}}`, `{"visibility":"all"}`} {
		r := invoke(`{"tool":"sessions_list","args":` + args + `}`)
		if r.status != http.StatusBadRequest || !strings.Contains(r.body, "unknown parameter") {
			t.Errorf("args %s: %d %s", args, r.status, r.body)
		}
	}
	for _, member := range []string{`"sandboxed":false`, `"caller":{"operator":true}`} {
		if r := invoke(`{"tool":"sessions_list",` + member + `}`); r.status == http.StatusOK && summary(gjson.Get(r.body, "result.details")) != sees {
			t.Errorf("with %s: %d %s", member, r.status, r.body)
		}
	}
	// Histories, and the operator's endpoints.
	for _, c := range []struct {
		path, body string
		status     int
		text       string
	}{
		{"/v1/chat/history", `{"sessionKey":"agent:ops:main"}`, http.StatusForbidden, "this session is sandboxed"},
		{"/v1/chat/history", `{"sessionKey":"agent:ops:nobody"}`, http.StatusForbidden, "this session is sandboxed"},
		{"/v1/chat/history", `{"sessionKey":"o"}`, http.StatusNotFound, "no session with the key or sessionId"},
		{"/v1/chat/history", `{"sessionKey":"none"}`, http.StatusNotFound, "no session with the key or sessionId"},
		{"/v1/chat/send", `{"sessionKey":"` + own + `","message":"it is me"}`, http.StatusForbidden, "operator"},
		{"/v1/agent", `{"sessionKey":"agent:ops:main","message":"work for me"}`, http.StatusForbidden, "operator"},
		{"/v1/agent/abort", `{"runId":"` + other + `"}`, http.StatusForbidden, "operator"},
		{"/v1/sessions/patch", `{"key":"` + own + `","sendPolicy":"allow"}`, http.StatusForbidden, "operator"},
		{"/v1/agent/wait", `{"runId":"` + other + `","timeoutMs":0}`, http.StatusNotFound, "that you have started"},
		{"/v1/agent/wait", `{"runId":"r_none","timeoutMs":0}`, http.StatusNotFound, "that you have started"},
	} {
		if r := v.post(token, c.path, c.body); r.status != c.status || !strings.Contains(r.body, c.text) {
			t.Errorf("%s %s: %d %s; want %d, … %s", c.path, c.body, r.status, r.body, c.status, c.text)
		}
	}
}

// A child that a sandboxed session spawns over HTTP or MCP, outside of any run, is
// sandboxed too.
func TestChildrenSpawnedFromOutsideAreSandboxed(t *testing.T) {
	t.Parallel()
	v := startGateway(t, `{`+fullAccess+`
	  agents: { list: [{ id: "main", default: true, subagents: { allowAgents: ["*"] } }, { id: "ops" }] },
	  gateway: { tokens: [
	    { token: "boxed", caller: { sessionKey: "`+sandboxedSession+`", sandboxed: true } },
	    { token: "free", caller: { sessionKey: "agent:main:main" } },
	  ] },
	}`)
	v.putSessions(abi.Session{Key: sandboxedSession, SessionID: "b"})
	for token, sandboxed := range map[string]bool{"boxed": true, "free": false} {
		for name, call := range map[string]func(string, bearer, string, string) (string, error){"http": overHTTP, "mcp": overMCP} {
			got, err := call(v.url, bearer(token), abi.ToolSpawn, `{"task":"look","agentId":"ops","announce":"none"}`)
			if err != nil || got != "accepted" {
				t.Fatalf("%s over %s: %s, %v", token, name, got, err)
			}
			caller, ok := v.host.Identify(<-v.tokens)
			if !ok || caller.Sandboxed != sandboxed || caller.Depth != 1 || caller.AgentID != "ops" {
				t.Errorf("%s over %s: the child's token identifies %+v", token, name, caller)
			}
			if r, err := v.host.AbortRun(t.Context(), caller.RunID, ""); err != nil || r.Status != abi.RunKilled {
				t.Errorf("%+v, %v", r, err)
			}
		}
	}
}
