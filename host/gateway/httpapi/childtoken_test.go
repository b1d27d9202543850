package httpapi

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/gateway"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/sqlite"
	"github.com/parley-wasm/parley/plugin/wasm"
)

const child = "agent:main:subagent:1"

// testGateway is a gateway with a real host. It is also the runner of all agents: each run
// sends its token to tokens and lasts until the end of the test.
type testGateway struct {
	t      *testing.T
	url    string
	host   *host.Host
	db     *sqlite.DB
	tokens chan string
}

func startGateway(t *testing.T, settings string, change ...func(*host.Options)) *testGateway {
	t.Helper()
	c, err := config.Parse("test", []byte(settings))
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	err = db.Update(t.Context(), func(tx store.Tx) error {
		return tx.PutSession(&abi.Session{Key: child, SessionID: "c", UpdatedAt: 1, SpawnedBy: "agent:main:main"})
	})
	if err != nil {
		t.Fatal(err)
	}
	v := &testGateway{t: t, db: db, tokens: make(chan string)}
	silent := slog.New(slog.DiscardHandler)
	o := &host.Options{
		Store: db, Config: c, Logger: silent, URL: func() string { return v.url },
		Runners: func(string) (runner.Runner, error) { return v, nil },
	}
	for _, fn := range change {
		fn(o)
	}
	h, err := host.New(t.Context(), wasm.Parley, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		now, cancel := context.WithCancel(context.Background())
		cancel()
		_ = h.Close(now) // the agents never end by themselves
	})
	tokens, _, err := gateway.NewTokens(c.Gateway.Tokens, "op")
	if err != nil {
		t.Fatal(err)
	}
	tokens.AcceptRuns(h)
	a, err := New(&Options{Tools: h, Chat: h, Tokens: tokens, Keys: func() sessionkey.Settings { return c.Keys() }, Logger: silent})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	v.url = newServer(t, a)
	if err := h.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	v.host = h
	return v
}

var _ runner.Runner = (*testGateway)(nil)

func (v *testGateway) Run(ctx context.Context, turn *runner.Turn) (*runner.Outcome, error) {
	_, token := turn.Tools.Access()
	select {
	case v.tokens <- token:
		<-ctx.Done()
	case <-ctx.Done():
	}
	return nil, ctx.Err()
}

// run starts a run in a session over HTTP and returns its token.
func (v *testGateway) run(session string) string {
	v.t.Helper()
	r := v.post("op", "/v1/agent", `{"sessionKey":"`+session+`","message":"go"}`)
	if r.status != 200 {
		v.t.Fatalf("status %d, %s", r.status, r.body)
	}
	return <-v.tokens
}

func (v *testGateway) post(token, path, body string) response {
	v.t.Helper()
	return request{"POST", path, []string{"Authorization: Bearer " + token}, strings.NewReader(body)}.send(v.t, v.url)
}

// mcp returns the names of the tools listed for a token, and the outcome of a call of
// each tool.
func (v *testGateway) mcp(token string) (listed string, outcomes map[string]string) {
	v.t.Helper()
	session := connectMCP(v.t, v.url, bearer(token))
	defer session.Close()
	list, err := session.ListTools(v.t.Context(), nil)
	if err != nil {
		v.t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	outcomes = map[string]string{}
	for tool, args := range calls {
		r, err := session.CallTool(v.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
		if err != nil {
			v.t.Fatal(err)
		}
		text := r.Content[0].(*sdk.TextContent).Text
		if outcomes[tool] = outcome([]byte(text)); r.IsError == (outcomes[tool] == "ok") {
			v.t.Errorf("isError of %s is %t: %s", tool, r.IsError, text)
		}
	}
	return strings.Join(names, " "), outcomes
}

// calls contains arguments for each tool.
var calls = map[string]string{
	abi.ToolList:    `{}`,
	abi.ToolHistory: `{"sessionKey":"current"}`,
	abi.ToolSend:    `{"sessionKey":"current","message":"hi","timeoutSeconds":0,"announce":"none"}`,
	abi.ToolAgents:  `{}`,
	abi.ToolSpawn:   `{"task":"hi","agentId":"nobody"}`,
}

// outcome returns the outcome of a call: "ok", "never" (no setting allows the tool to a
// child), "reached" (the tool was called and rejected its arguments), "denied" or "not
// allowed" (by the settings deny and allow), or the failure.
func outcome(result []byte) string {
	failure := gjson.GetBytes(result, "error").Str
	switch {
	case failure == "":
		return "ok"
	case strings.Contains(failure, "not for child sessions, and no setting"), strings.Contains(failure, "cannot spawn children"):
		return "never"
	case strings.Contains(failure, "not a configured agent"):
		return "reached"
	case gjson.GetBytes(result, "status").Str != "forbidden":
		return string(result)
	case strings.Contains(failure, "tools.subagents.tools.deny"):
		return "denied"
	case strings.Contains(failure, "tools.subagents.tools.allow"):
		return "not allowed"
	}
	return failure
}

// With the token of a child's run, a client has only the tools that the settings allow,
// over both MCP and HTTP. Every other caller has all tools, but a child session has no
// sessions_spawn (S5.4).
func TestToolsOfChildToken(t *testing.T) {
	t.Parallel()
	const all = "agents_list sessions_history sessions_list sessions_send sessions_spawn"
	open := map[string]string{abi.ToolList: "ok", abi.ToolHistory: "ok", abi.ToolSend: "ok", abi.ToolAgents: "ok", abi.ToolSpawn: "reached"}
	connection := maps.Clone(open)
	connection[abi.ToolSpawn] = "never" // by the tool itself: the session is a child
	for _, c := range []struct {
		settings, listed string
		outcomes         map[string]string
	}{
		{`allow: ["sessions_list"]`, "sessions_list",
			map[string]string{abi.ToolList: "ok", abi.ToolHistory: "not allowed", abi.ToolSend: "not allowed", abi.ToolAgents: "not allowed", abi.ToolSpawn: "never"}},
		{`allow: ["*"], deny: ["*_send", "agents_list"]`, "sessions_history sessions_list",
			map[string]string{abi.ToolList: "ok", abi.ToolHistory: "ok", abi.ToolSend: "denied", abi.ToolAgents: "denied", abi.ToolSpawn: "never"}},
	} {
		v := startGateway(t, `{
		  tools: { subagents: { tools: {`+c.settings+`} } },
		  gateway: { tokens: [{ token: "child", caller: { sessionKey: "`+child+`" } }] },
		}`)
		for _, client := range []struct {
			name, token, listed string
			outcomes            map[string]string
		}{
			{"a child's run", v.run(child), c.listed, c.outcomes},
			{"another run", v.run("agent:main:main"), all, open},
			{"a child's connection", "child", "agents_list sessions_history sessions_list sessions_send", connection},
		} {
			listed, outcomes := v.mcp(client.token)
			if listed != client.listed || !maps.Equal(outcomes, client.outcomes) {
				t.Errorf("%s: %s is listed %s, and outcomes over MCP are %v; want %s and %v", c.settings, client.name, listed, outcomes, client.listed, client.outcomes)
			}
			for tool, want := range client.outcomes {
				r := v.post(client.token, "/tools/invoke", `{"tool":"`+tool+`","args":`+calls[tool]+`}`)
				if got := outcome([]byte(gjson.Get(r.body, "result.details").Raw)); r.status != 200 || got != want {
					t.Errorf("%s: %s calls %s over HTTP: %d %s, want %s", c.settings, client.name, tool, r.status, r.body, want)
				}
			}
			r := v.post(client.token, "/v1/chat/history", `{"sessionKey":"current"}`)
			if allowed := client.outcomes[abi.ToolHistory] == "ok"; (r.status == 200) != allowed || !allowed && !strings.Contains(r.body, "tools.subagents.tools.allow") {
				t.Errorf("%s: %s reads its history: %d %s", c.settings, client.name, r.status, r.body)
			}
		}
	}
}
