package httpapi

import (
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
)

// ignoreWait ignores a call's Wait, which differs for each request.
var ignoreWait = cmpopts.IgnoreFields(host.Call{}, "Wait")

func TestSocket(t *testing.T) {
	t.Parallel()
	f := newFake()
	url := newServer(t, NewLocal(f, f, slog.New(slog.DiscardHandler)))
	operator := abi.Caller{Operator: true}
	for _, c := range []struct {
		name, body string
		want       host.Call
		answer     string
	}{
		{"the operator", `{"tool":"echo"}`, host.Call{Tool: "echo", Caller: operator}, `{"callId":"made","result":{"who":"operator"}}`},
		{"all members", `{"tool":"echo","args":{"n": 1.0},"callId":"c","caller":{"sessionKey":"agent:a:main","agentId":"a","channel":"x","to":"t","accountId":"i","threadId":"9","runId":"r_1","sandboxed":true,"depth":1,"hops":2,"operator":false}}`,
			host.Call{Tool: "echo", Args: []byte(`{"n": 1.0}`), ID: "c", Caller: abi.Caller{SessionKey: "agent:a:main", AgentID: "a",
				Channel: "x", To: "t", AccountID: "i", ThreadID: "9", RunID: "r_1", Sandboxed: true, Depth: 1, Hops: 2}},
			`{"callId":"made","result":{"who":"agent:a:main"}}`},
		{"a failure of the tool", `{"tool":"echo","args":{"do":"forbidden"}}`, host.Call{Tool: "echo", Args: []byte(`{"do":"forbidden"}`), Caller: operator},
			`{"callId":"made","result":{"status":"forbidden","error":"tools.sessions.visibility is tree"},"code":"forbidden"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := request{"POST", "/v1/call", nil, strings.NewReader(c.body)}.send(t, url)
			if r.status != 200 || r.body != c.answer {
				t.Errorf("status %d, %s, want %s", r.status, r.body, c.answer)
			}
			if d := cmp.Diff(c.want, f.last(), ignoreWait); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestSocketFailures(t *testing.T) {
	t.Parallel()
	f := newFake()
	base := newServer(t, NewLocal(f, f, slog.New(slog.DiscardHandler)))
	do := func(what string) string { return `{"tool":"echo","args":{"do":"` + what + `"}}` }
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		want                     string
	}{
		{"bad JSON", "POST", "/v1/call", `{`, 400, `{"ok":false,"error":{"type":"invalid_request","code":"invalid_args","message":"the body is not strict JSON: `},
		{"not an object", "POST", "/v1/call", `[]`, 400, `{"ok":false,"error":{"type":"invalid_request","code":"invalid_args","message":"the body must be a JSON object"}}`},
		{"unknown member", "POST", "/v1/call", `{"Tool":"x"}`, 400, `{"ok":false,"error":{"type":"invalid_request","code":"invalid_args","message":"unknown member \"Tool\"; known are tool, args, caller, callId"}}`},
		{"wrong type", "POST", "/v1/call", `{"tool":1}`, 400, `{"ok":false,"error":{"type":"invalid_request","code":"invalid_args","message":"tool must be a string"}}`},
		{"caller is not an object", "POST", "/v1/call", `{"tool":"x","caller":null}`, 400, `{"ok":false,"error":{"type":"invalid_request","code":"invalid_args","message":"caller must be an object"}}`},
		{"unknown member of caller", "POST", "/v1/call", `{"tool":"x","caller":{"sessionkey":""}}`, 400, `{"ok":false,"error":{"type":"invalid_request","code":"invalid_args","message":"unknown member \"caller.sessionkey\"; known are sessionKey, agentId, `},
		{"wrong type in caller", "POST", "/v1/call", `{"tool":"x","caller":{"depth":"1"}}`, 400, `{"ok":false,"error":{"type":"invalid_request","code":"invalid_args","message":"caller.depth must be a whole number"}}`},
		{"negative number in caller", "POST", "/v1/call", `{"tool":"x","caller":{"sandboxed":false,"depth":0,"hops":-1}}`, 400, `{"ok":false,"error":{"type":"invalid_request","code":"invalid_args","message":"caller.depth and caller.hops must not be negative"}}`},
		{"caller without a member", "POST", "/v1/call", `{"tool":"x","caller":{"operator":true}}`, 400, `{"ok":false,"error":{"type":"invalid_request","code":"invalid_args","message":"caller.sandboxed is missing"}}`},
		{"bad call id", "POST", "/v1/call", `{"tool":"x","callId":"a b"}`, 400, `{"ok":false,"error":{"type":"invalid_request","code":"invalid_args","message":"callId has characters other than visible ASCII"}}`},
		{"body too large", "POST", "/v1/call", strings.Repeat(" ", 3<<20), 413, `{"ok":false,"error":{"type":"payload_too_large","code":"invalid_args","message":"the body is longer than `},
		{"refused", "POST", "/v1/call", do("refuse"), 400, `{"ok":false,"error":{"type":"invalid_request","code":"invalid_args","message":"the arguments are too long"}}`},
		{"unsupported", "POST", "/v1/call", do("unsupported"), 404, `{"ok":false,"error":{"type":"not_found","code":"unsupported","message":"this host runs read-only tools"}}`},
		{"limit", "POST", "/v1/call", do("limit"), 429, `{"ok":false,"error":{"type":"too_many_requests","code":"limit","message":"step: secret detail"}}`},
		{"full disk", "POST", "/v1/call", do("full"), 507, `{"ok":false,"error":{"type":"insufficient_storage","code":"limit","message":"chat: secret.db: the disk is full"}}`},
		{"internal", "POST", "/v1/call", do("fail"), 500, `{"ok":false,"error":{"type":"tool_error","code":"internal","message":"secret detail"}}`},
		{"panic", "POST", "/v1/call", do("panic"), 500, `{"ok":false,"error":{"type":"internal"`},
		{"unsupported method", "PUT", "/v1/call", ``, 405, `{"ok":false,"error":{"type":"method_not_allowed","code":"unsupported","message":"use POST"}}`},
		{"unknown path", "GET", "/v1/none", ``, 404, `{"ok":false,"error":{"type":"not_found","code":"unsupported","message":"unknown path; the owner of the database may run another version of this program"}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := request{c.method, c.path, nil, strings.NewReader(c.body)}.send(t, base)
			if r.status != c.status || !strings.HasPrefix(r.body, c.want) || r.header.Get("Content-Type") != "application/json" {
				t.Errorf("status %d, %s, want %d, %s", r.status, r.body, c.status, c.want)
			}
		})
	}
	r := request{"GET", "/v1/tools", nil, nil}.send(t, base)
	const want = `"tools":[{"name":"echo","description":"Echoes.","inputSchema":{"type":"object"},"outputSchema":{"type":"object"},"readOnly":true,"needs":["session"]},{"name":"act",`
	if r.status != 200 || !strings.Contains(r.body, want) {
		t.Errorf("tools: %d %s", r.status, r.body)
	}
	for _, c := range []struct{ query, want string }{
		{`{"sessionKey":"agent:a:subagent:1","agentId":"a","sandboxed":false,"depth":1,"hops":0,"runId":"r"}`, "echo"},
		{`{"sessionKey":"agent:a:subagent:1","agentId":"a","sandboxed":false,"depth":1,"hops":0}`, "echo act"},
		{`{"sandboxed":false,"depth":0,"hops":0,"operator":true}`, "echo act"},
		{`{"operator":true}`, `the query's caller={"operator":true} is wrong`},
		{`{"sandboxed":false,"depth":-1,"hops":0}`, `the query's caller={"sandboxed":false,"depth":-1,"hops":0} is wrong`},
		{``, "the query's caller= is wrong"},
	} {
		r := request{"GET", "/v1/tools?caller=" + url.QueryEscape(c.query), nil, nil}.send(t, base)
		var names []string
		for _, name := range gjson.Get(r.body, "tools.#.name").Array() {
			names = append(names, name.Str)
		}
		if got := strings.Join(names, " ") + gjson.Get(r.body, "error.message").Str; got != c.want || (r.status == 200) != (names != nil) {
			t.Errorf("tools for %s: %d %s, want %s", c.query, r.status, r.body, c.want)
		}
	}
}
