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

// visited is a gateway over a whole host. Its agents hand out their tokens and are
// at work until the end of the test.
type visited struct {
	t      *testing.T
	url    string
	host   *host.Host
	db     *sqlite.DB
	tokens chan string
}

func visit(t *testing.T, settings string, change ...func(*host.Options)) *visited {
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
	v := &visited{t: t, db: db, tokens: make(chan string)}
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
		_ = h.Close(now) // its agents never end by themselves
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

var _ runner.Runner = (*visited)(nil)

func (v *visited) Run(ctx context.Context, turn *runner.Turn) (*runner.Outcome, error) {
	_, token := turn.Tools.Access()
	select {
	case v.tokens <- token:
		<-ctx.Done()
	case <-ctx.Done():
	}
	return nil, ctx.Err()
}

// run starts a run in a session over HTTP and returns its token.
func (v *visited) run(session string) string {
	v.t.Helper()
	r := v.post("op", "/v1/agent", `{"sessionKey":"`+session+`","message":"go"}`)
	if r.status != 200 {
		v.t.Fatalf("status %d, %s", r.status, r.body)
	}
	return <-v.tokens
}

func (v *visited) post(token, path, body string) response {
	v.t.Helper()
	return request{"POST", path, []string{"Authorization: Bearer " + token}, strings.NewReader(body)}.send(v.t, v.url)
}

// mcp returns the names of the tools that a token is listed, and how calls of the
// tools end.
func (v *visited) mcp(token string) (listed string, ends map[string]string) {
	v.t.Helper()
	session := mcpClient(v.t, v.url, bearer(token))
	defer session.Close()
	list, err := session.ListTools(v.t.Context(), nil)
	if err != nil {
		v.t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	ends = map[string]string{}
	for tool, args := range calls {
		r, err := session.CallTool(v.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
		if err != nil {
			v.t.Fatal(err)
		}
		text := r.Content[0].(*sdk.TextContent).Text
		if ends[tool] = end([]byte(text)); r.IsError == (ends[tool] == "ok") {
			v.t.Errorf("isError of %s is %t: %s", tool, r.IsError, text)
		}
	}
	return strings.Join(names, " "), ends
}

// calls are arguments for each tool.
var calls = map[string]string{
	abi.ToolList:    `{}`,
	abi.ToolHistory: `{"sessionKey":"current"}`,
	abi.ToolSend:    `{"sessionKey":"current","message":"hi","timeoutSeconds":0,"announce":"none"}`,
	abi.ToolAgents:  `{}`,
	abi.ToolSpawn:   `{"task":"hi","agentId":"nobody"}`,
}

// end returns "ok", or the setting that forbids.
func end(result []byte) string {
	failure := gjson.GetBytes(result, "error").Str
	switch {
	case failure == "":
		return "ok"
	case strings.Contains(failure, "not for child sessions, and no setting"), strings.Contains(failure, "spawn no children"):
		return "never"
	case strings.Contains(failure, "not a configured agent"):
		return "reached"
	case gjson.GetBytes(result, "status").Str != "forbidden":
		return string(result)
	case strings.Contains(failure, "tools.subagents.tools.deny"):
		return "denied"
	case strings.Contains(failure, "tools.subagents.tools.allow"):
		return "withheld"
	}
	return failure
}

// With its run's token the agent of a child gets what the settings leave it, over
// MCP and HTTP alike. Everybody else is listed everything, and may call it (S5.4).
func TestTokenOfChild(t *testing.T) {
	t.Parallel()
	const all = "agents_list sessions_history sessions_list sessions_send sessions_spawn"
	open := map[string]string{abi.ToolList: "ok", abi.ToolHistory: "ok", abi.ToolSend: "ok", abi.ToolAgents: "ok", abi.ToolSpawn: "reached"}
	connection := maps.Clone(open)
	connection[abi.ToolSpawn] = "never" // by the tool itself: the session is a child
	for _, c := range []struct {
		settings, listed string
		ends             map[string]string
	}{
		{`allow: ["sessions_list"]`, "sessions_list",
			map[string]string{abi.ToolList: "ok", abi.ToolHistory: "withheld", abi.ToolSend: "withheld", abi.ToolAgents: "withheld", abi.ToolSpawn: "never"}},
		{`allow: ["*"], deny: ["*_send", "agents_list"]`, "sessions_history sessions_list",
			map[string]string{abi.ToolList: "ok", abi.ToolHistory: "ok", abi.ToolSend: "denied", abi.ToolAgents: "denied", abi.ToolSpawn: "never"}},
	} {
		v := visit(t, `{
		  tools: { subagents: { tools: {`+c.settings+`} } },
		  gateway: { tokens: [{ token: "child", caller: { sessionKey: "`+child+`" } }] },
		}`)
		for _, who := range []struct {
			name, token, listed string
			ends                map[string]string
		}{
			{"a child's run", v.run(child), c.listed, c.ends},
			{"another run", v.run("agent:main:main"), all, open},
			{"a child's connection", "child", "agents_list sessions_history sessions_list sessions_send", connection},
		} {
			listed, ends := v.mcp(who.token)
			if listed != who.listed || !maps.Equal(ends, who.ends) {
				t.Errorf("%s: %s is listed %s, and calls over MCP end as %v; want %s and %v", c.settings, who.name, listed, ends, who.listed, who.ends)
			}
			for tool, want := range who.ends {
				r := v.post(who.token, "/tools/invoke", `{"tool":"`+tool+`","args":`+calls[tool]+`}`)
				if got := end([]byte(gjson.Get(r.body, "result.details").Raw)); r.status != 200 || got != want {
					t.Errorf("%s: %s calls %s over HTTP: %d %s, want %s", c.settings, who.name, tool, r.status, r.body, want)
				}
			}
			r := v.post(who.token, "/v1/chat/history", `{"sessionKey":"current"}`)
			if allowed := who.ends[abi.ToolHistory] == "ok"; (r.status == 200) != allowed || !allowed && !strings.Contains(r.body, "tools.subagents.tools.allow") {
				t.Errorf("%s: %s reads its history: %d %s", c.settings, who.name, r.status, r.body)
			}
		}
	}
}
