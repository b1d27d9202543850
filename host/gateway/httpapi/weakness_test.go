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

// Weaknesses that tools of this kind have had, tried from outside: by a program that
// is a child's agent, and by whoever holds a token.

// open are settings in which everybody sees everything, but who is in a sandbox;
// these are the sessions of main.
const open = `
  tools: { sessions: { visibility: "all" }, agentToAgent: { enabled: true }, subagents: { tools: { allow: ["*"] } } },
`

// settle stores the sessions that there are to be seen.
func (v *visited) settle(rows ...abi.Session) {
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

// held is why who is in a sandbox does not see a session.
const held = `forbidden: session "agent:ops:main" is not visible here: this session is sandboxed and agents.defaults.sandbox.sessionToolsVisibility is "spawned": only this session and the sessions it spawned are visible`

// spawner answers as a model does: it spawns a child under ops, and then is done.
func spawner(t *testing.T) string {
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

// A sandboxed session spawns a child under an agent of another kind, one that is a
// program with an environment and a token of its own, for the token to stand for
// somebody who is in no sandbox. It stands for the child's run, which is in the
// sandbox whatever executes it, over HTTP and over MCP; and the program is told, so
// that it can keep to a sandbox too (S5.2).
func TestSandboxIsNotLeftThroughAnotherRunner(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for kind, runner := range map[string]string{
		"script": `{ kind: "script", replies: [{ tool: "sessions_spawn", args: { task: "look", agentId: "ops", announce: "none" }, text: "done" }] }`,
		"openai": `{ kind: "openai", model: "m", baseUrl: "` + spawner(t) + `" }`,
	} {
		t.Run(kind, func(t *testing.T) {
			v := visit(t, `{`+open+`
			  agents: { list: [
			    { id: "main", default: true, sandbox: { mode: "all" }, subagents: { allowAgents: ["*"] }, runner: `+runner+` },
			    { id: "ops", sandbox: { mode: "off" }, runner: { kind: "command", argv: ["`+self+`", "visitor"], env: { GORACE: "atexit_sleep_ms=0" } } },
			  ] },
			}`, func(o *host.Options) { o.Runners = nil })
			v.settle()
			end := func(id string) *store.Run {
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
			end(start("agent:main:main"))
			runs, err := v.host.Runs(t.Context(), &store.Filter{})
			if err != nil || len(runs) != 2 || runs[0].Group != abi.GroupSubagent {
				t.Fatalf("%d runs, %v; want the parent's and its child's", len(runs), err)
			}
			child := runs[0].SessionKey
			want := "sandboxed \"1\"\n"
			for _, way := range []string{"http", "mcp"} {
				want += way + " sessions_list " + child + "\n" + way + " sessions_history " + held + "\n" + way + " sessions_send " + held + "\n"
			}
			if got := end(runs[0].ID).Reply; got != strings.TrimSpace(want) {
				t.Errorf("the child's program sees\n%s\nwant\n%s", got, want)
			}
			if got := end(start(child)).Reply; got != strings.TrimSpace(want) { // a later run
				t.Errorf("later, the child's program sees\n%s\nwant\n%s", got, want)
			}
			if got := end(start("agent:ops:main")).Reply; !strings.HasPrefix(got, "sandboxed \"\"\n") || strings.Contains(got, "forbidden") || !strings.Contains(got, child+" main") {
				t.Errorf("the same program in no sandbox sees\n%s", got)
			}
		})
	}
}

// The boxed session of agent main, and a child of it under ops, which is in no
// sandbox by itself.
const (
	boxed      = "agent:main:boxed"
	boxedChild = "agent:ops:subagent:1"
)

// Whoever is in a sandbox takes another door: it calls with its token over HTTP,
// names another session to speak as, in the body, in a header or in the arguments,
// speaks MCP, asks for a history, or for what only the operator may. Every door asks
// the token who is there, and the session whether that one is in the sandbox.
func TestSandboxIsNotLeftThroughAnotherEntry(t *testing.T) {
	t.Parallel()
	v := visit(t, `{`+open+`
	  agents: { list: [
	    { id: "main", default: true, sandbox: { mode: "non-main" }, subagents: { allowAgents: ["*"] } },
	    { id: "ops", sandbox: { mode: "off" } },
	  ] },
	  gateway: { tokens: [
	    { token: "boxed", caller: { sessionKey: "`+boxed+`" } },
	    { token: "ops-box", caller: { sessionKey: "agent:ops:box", sandboxed: true } },
	    { token: "child", caller: { sessionKey: "`+boxedChild+`" } },
	    { token: "free", caller: { sessionKey: "agent:ops:main" } },
	  ] },
	}`)
	v.settle(abi.Session{Key: boxed, SessionID: "b"}, abi.Session{Key: "agent:ops:box", SessionID: "x"},
		abi.Session{Key: boxedChild, SessionID: "bc", SpawnedBy: boxed, Sandboxed: true})
	other := gjson.Get(v.post("op", "/v1/agent", `{"sessionKey":"agent:ops:main","message":"go"}`).body, "runId").Str
	<-v.tokens
	for _, who := range []struct{ name, token, own, sees string }{
		{"a sandboxed session", "boxed", boxed, boxed + " " + boxedChild},
		{"a session whose token is sandboxed", "ops-box", "agent:ops:box", "agent:ops:box"},
		{"a child of a sandboxed session", "child", boxedChild, boxedChild},
		{"the run of a sandboxed session", v.run(boxed), boxed, boxed + " " + boxedChild},
		{"the run of its child", v.run(boxedChild), boxedChild, boxedChild},
	} {
		t.Run(who.name, func(t *testing.T) { v.doors(t, who.token, who.own, who.sees, other) })
	}
	// The operator who speaks as one of them is held as that one is.
	r := v.post("op", "/tools/invoke", `{"tool":"sessions_list","sessionKey":"`+boxedChild+`"}`)
	if got := seen(gjson.Get(r.body, "result.details")); got != boxedChild {
		t.Errorf("the operator as the child sees %s", got)
	}
	// The doors are open to who is in no sandbox.
	for _, try := range tries {
		for name, call := range map[string]func(string, bearer, string, string) (string, error){"http": overHTTP, "mcp": overMCP} {
			if got, err := call(v.url, "free", try[0], try[1]); err != nil || strings.Contains(got, "forbidden") {
				t.Errorf("who is in no sandbox: %s over %s: %s, %v", try[0], name, got, err)
			}
		}
	}
}

// doors tries every way in with a token that stands for the session own, which sees
// these sessions.
func (v *visited) doors(t *testing.T, token, own, sees, other string) {
	invoke := func(body string, headers ...string) response {
		t.Helper()
		return request{"POST", "/tools/invoke", append(headers, "Authorization: Bearer "+token), strings.NewReader(body)}.send(t, v.url)
	}
	for _, try := range tries {
		want := held
		if try[0] == abi.ToolList {
			want = sees
		}
		for name, call := range map[string]func(string, bearer, string, string) (string, error){"http": overHTTP, "mcp": overMCP} {
			if got, err := call(v.url, bearer(token), try[0], try[1]); err != nil || got != want {
				t.Errorf("%s over %s: %s, %v; want %s", try[0], name, got, err, want)
			}
		}
	}
	// To speak as another session, or as one that is in no sandbox.
	for _, name := range []string{"agent:ops:main", "agent:main:main", "agent:OPS:main", "agent:main:subagent:2"} {
		r := invoke(`{"tool":"sessions_list","sessionKey":"` + name + `"}`)
		if r.status != http.StatusForbidden || !strings.Contains(r.body, "this token stands for the session "+own+" alone") {
			t.Errorf("as %s: %d %s", name, r.status, r.body)
		}
		if _, err := overMCP(v.url, bearer(token+" "+name), abi.ToolList, `{}`); err == nil {
			t.Errorf("over MCP as %s: answered", name)
		}
		r = invoke(`{"tool":"sessions_list"}`, HeaderSession+": "+name)
		if got := seen(gjson.Get(r.body, "result.details")); got != sees {
			t.Errorf("with %s in a header: %d %s", name, r.status, r.body)
		}
	}
	if r := invoke(`{"tool":"sessions_list","sessionKey":"` + own + `"}`); seen(gjson.Get(r.body, "result.details")) != sees {
		t.Errorf("as itself: %d %s", r.status, r.body)
	}
	for _, args := range []string{`{"sandboxed":false}`, `{"caller":{"operator":true}}`, `{"visibility":"all"}`} {
		r := invoke(`{"tool":"sessions_list","args":` + args + `}`)
		if r.status != http.StatusBadRequest || !strings.Contains(r.body, "unknown parameter") {
			t.Errorf("args %s: %d %s", args, r.status, r.body)
		}
	}
	for _, member := range []string{`"sandboxed":false`, `"caller":{"operator":true}`} {
		if r := invoke(`{"tool":"sessions_list",` + member + `}`); r.status == http.StatusOK && seen(gjson.Get(r.body, "result.details")) != sees {
			t.Errorf("with %s: %d %s", member, r.status, r.body)
		}
	}
	// What shows a history, and what is the operator's.
	for _, try := range []struct {
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
		if r := v.post(token, try.path, try.body); r.status != try.status || !strings.Contains(r.body, try.text) {
			t.Errorf("%s %s: %d %s; want %d, … %s", try.path, try.body, r.status, r.body, try.status, try.text)
		}
	}
}

// A sandboxed session spawns over HTTP or MCP, where no agent's runner says that it
// is in the sandbox: the child is in it all the same.
func TestChildrenSpawnedFromOutsideAreSandboxed(t *testing.T) {
	t.Parallel()
	v := visit(t, `{`+open+`
	  agents: { list: [{ id: "main", default: true, subagents: { allowAgents: ["*"] } }, { id: "ops" }] },
	  gateway: { tokens: [
	    { token: "boxed", caller: { sessionKey: "`+boxed+`", sandboxed: true } },
	    { token: "free", caller: { sessionKey: "agent:main:main" } },
	  ] },
	}`)
	v.settle(abi.Session{Key: boxed, SessionID: "b"})
	for token, sandboxed := range map[string]bool{"boxed": true, "free": false} {
		for name, call := range map[string]func(string, bearer, string, string) (string, error){"http": overHTTP, "mcp": overMCP} {
			got, err := call(v.url, bearer(token), abi.ToolSpawn, `{"task":"look","agentId":"ops","announce":"none"}`)
			if err != nil || got != "accepted" {
				t.Fatalf("%s over %s: %s, %v", token, name, got, err)
			}
			caller, ok := v.host.Identify(<-v.tokens)
			if !ok || caller.Sandboxed != sandboxed || caller.Depth != 1 || caller.AgentID != "ops" {
				t.Errorf("%s over %s: the child's token stands for %+v", token, name, caller)
			}
			if r, err := v.host.KillRun(t.Context(), caller.RunID, ""); err != nil || r.Status != abi.RunKilled {
				t.Errorf("%+v, %v", r, err)
			}
		}
	}
}
