package host_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/internal/chat"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/sqlite"
)

// childKeys are the child sessions that openDBWithChildren stores: one is a child by
// its key, the other by its field SpawnedBy.
var childKeys = []string{"agent:main:subagent:1", "agent:main:spawned"}

func openDBWithChildren(t *testing.T) *sqlite.DB {
	t.Helper()
	db := openTestDB(t, dbPath(t))
	err := db.Update(t.Context(), func(tx store.Tx) error {
		if err := tx.PutSession(&abi.Session{Key: childKeys[0], SessionID: "c1", UpdatedAt: 1}); err != nil {
			return err
		}
		return tx.PutSession(&abi.Session{Key: childKeys[1], SessionID: "c2", UpdatedAt: 1, SpawnedBy: "agent:main:a"})
	})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// childToolSettings returns settings with lists of tools that children may and may not
// use.
func childToolSettings(allow, deny string) string {
	return fmt.Sprintf(`{tools: {sessions: {visibility: "agent"}, subagents: {tools: {allow: [%s], deny: [%s]}}}}`, allow, deny)
}

func configure(t *testing.T, h *host.Host, settings string) {
	t.Helper()
	c, err := config.Parse("test", []byte(settings))
	if err != nil {
		t.Fatal(err)
	}
	h.Configure(c)
}

// toolOutcomes returns the names of a turn's tools and the outcomes of calls to the
// plugin's tools: "ok", or the kind of setting that forbids the call.
func toolOutcomes(ctx context.Context, turn *runner.Turn) (string, error) {
	if turn.Tools == nil {
		return "no tools", nil
	}
	var said []string
	for _, tool := range turn.Tools.List() {
		said = append(said, tool.Name)
	}
	said = append(said, "|")
	for _, call := range [][2]string{
		{abi.ToolList, `{}`},
		{abi.ToolHistory, `{"sessionKey":"current"}`},
		{abi.ToolSend, `{"sessionKey":"agent:main:b","message":"hello","timeoutSeconds":0,"announce":"none"}`},
		{abi.ToolAgents, `{}`},
	} {
		answer, err := turn.Tools.Call(ctx, call[0], []byte(call[1]))
		if err != nil {
			return "", err
		}
		how, failure := "ok", gjson.GetBytes(answer.Result, "error").Str
		switch forbidden := gjson.GetBytes(answer.Result, "status").Str == "forbidden"; {
		case forbidden != (answer.Code == abi.Forbidden), forbidden != (failure != ""):
			how = string(answer.Result)
		case strings.Contains(failure, "tools.subagents.tools.deny"):
			how = "denied"
		case strings.Contains(failure, "tools.subagents.tools.allow"):
			how = "unlisted"
		case failure != "":
			how = failure
		}
		said = append(said, how)
	}
	return strings.Join(said, " "), nil
}

// A child's agent gets only the tools that the settings allow, and its calls of other
// tools are refused, by whatever method the child's message was sent (S5.4).
func TestChildTools(t *testing.T) {
	t.Parallel()
	const all = "sessions_list sessions_history agents_list sessions_send"
	h := startHost(t, openDBWithChildren(t), openSettings, func(ctx context.Context, turn *runner.Turn) (string, error) {
		if turn.Message == "hello" {
			return "REPLY_SKIP", nil
		}
		return toolOutcomes(ctx, turn)
	})
	sent := 0
	for _, c := range []struct{ allow, deny, want string }{
		{``, ``, "no tools"},
		{`"sessions_list"`, ``, "sessions_list | ok unlisted unlisted unlisted"},
		{`"sessions_send"`, ``, "sessions_send | unlisted unlisted ok unlisted"},
		{`"*"`, ``, all + " | ok ok ok ok"},
		{`"*"`, `"sessions_*"`, "agents_list | denied denied denied ok"},
		{`"sessions_list", "agents_list"`, `"agents_list"`, "sessions_list | ok unlisted unlisted denied"},
		{`"*"`, `"*"`, "no tools"},
	} {
		configure(t, h, childToolSettings(c.allow, c.deny))
		for _, key := range childKeys {
			if got := awaitReply(t, h, startRun(t, h, key, "by /v1/agent")); got != c.want {
				t.Errorf("allow %s deny %s: %s by /v1/agent: %s; want %s", c.allow, c.deny, key, got, c.want)
			}
			accepted, err := h.Send(t.Context(), &chat.Message{SessionKey: key, Text: "by /v1/chat/send"})
			if err != nil {
				t.Fatal(err)
			}
			if got := awaitReply(t, h, accepted.RunID); got != c.want {
				t.Errorf("allow %s deny %s: %s by /v1/chat/send: %s; want %s", c.allow, c.deny, key, got, c.want)
			}
		}
		if got := awaitReply(t, h, startRun(t, h, "agent:main:a", "not a child")); got != all+" sessions_spawn | ok ok ok ok" {
			t.Errorf("allow %s deny %s: a session that is not a child: %s", c.allow, c.deny, got)
		}
		if strings.Contains(c.want, abi.ToolSend) {
			sent += 2
		}
		flows, err := h.Flows(t.Context(), &store.Filter{SessionKey: childKeys[0]})
		if err != nil || len(flows) != sent {
			t.Errorf("allow %s deny %s: a child has %d flows, %v; want %d", c.allow, c.deny, len(flows), err, sent)
		}
	}
}

// A refused call stores nothing: its id is free when the settings later allow the call.
func TestRefusedCallStoresNothing(t *testing.T) {
	t.Parallel()
	tokens, resume := make(chan string), make(chan struct{})
	h := startHost(t, openDBWithChildren(t), childToolSettings(`"sessions_list"`, ``), func(ctx context.Context, turn *runner.Turn) (string, error) {
		if turn.Message == "hello" {
			return "REPLY_SKIP", nil
		}
		_, token := turn.Tools.Access()
		tokens <- token
		<-resume
		return "done", nil
	}, func(o *host.Options) { o.URL = func() string { return "http://127.0.0.1:1" } })
	id := startRun(t, h, childKeys[0], "begin")
	caller, ok := h.Identify(<-tokens)
	if !ok || caller.Depth != 1 || caller.RunID != id {
		t.Fatalf("the run's token identifies %+v", caller)
	}
	send := func(callID, message string) *host.Answer {
		t.Helper()
		answer, err := h.Call(t.Context(), &host.Call{
			Tool: abi.ToolSend, Caller: caller, ID: callID,
			Args: fmt.Appendf(nil, `{"sessionKey":"agent:main:b","message":%q,"timeoutSeconds":0,"announce":"none"}`, message),
		})
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	for _, callID := range []string{"mine", ""} {
		got := send(callID, "refused")
		const want = `{"status":"forbidden","error":"sessions_send is not for child sessions unless tools.subagents.tools.allow has it; do without it, or ask the operator to change the setting"}`
		if string(got.Result) != want || got.Code != abi.Forbidden || got.FlowID != "" || got.CallID == "" || callID != "" && got.CallID != callID {
			t.Errorf("refused: %s %+v", got.Result, got)
		}
	}
	flows, err := h.Flows(t.Context(), &store.Filter{})
	if err != nil || len(flows) != 0 || countRuns(t, h, "agent:main:b") != 0 {
		t.Errorf("refused calls left %d flows, %v", len(flows), err)
	}

	configure(t, h, childToolSettings(`"sessions_*"`, ``))
	for _, callID := range []string{"mine", ""} {
		if got := send(callID, "hello"); got.Code != "" || got.FlowID == "" {
			t.Errorf("allowed: %s %+v", got.Result, got)
		}
	}
	close(resume)
	awaitReply(t, h, id)
}

// The settings restrict the tools of a child's runs. A connection of the child is denied
// only sessions_spawn. ToolsFor and Call must agree for every caller.
func TestToolsFor(t *testing.T) {
	t.Parallel()
	h := newHost(t, openDBWithChildren(t), childToolSettings(`"sessions_list"`, ``), nil)
	child := abi.Caller{SessionKey: childKeys[0], AgentID: "main", Depth: 1}
	run := child
	run.RunID = "r"
	for _, c := range []struct {
		caller abi.Caller
		want   []string
	}{
		{abi.Caller{Operator: true}, toolNames(h.Tools())},
		{abi.Caller{SessionKey: "agent:main:a", AgentID: "main", RunID: "r"}, toolNames(h.Tools())},
		{child, slices.DeleteFunc(toolNames(h.Tools()), func(name string) bool { return name == abi.ToolSpawn })},
		{run, []string{abi.ToolList}},
	} {
		tools, err := h.ToolsFor(t.Context(), c.caller)
		if got := toolNames(tools); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%+v may use %q, %v; want %q", c.caller, got, err, c.want)
		}
		answer, err := h.Call(t.Context(), &host.Call{Tool: abi.ToolAgents, Caller: c.caller})
		if err != nil || (answer.Code == abi.Forbidden) == slices.Contains(c.want, abi.ToolAgents) {
			t.Errorf("%+v: %+v, %v", c.caller, answer, err)
		}
	}
	if got := len(h.Tools()); got != 5 {
		t.Errorf("the host has %d tools", got)
	}
	if _, err := h.Call(t.Context(), &host.Call{Tool: "no_such_tool", Caller: run}); err == nil || !strings.Contains(err.Error(), "no_such_tool") {
		t.Errorf("an unknown tool: %v", err)
	}
}

func toolNames(tools []abi.Tool) (names []string) {
	for _, tool := range tools {
		names = append(names, tool.Name)
	}
	return names
}
