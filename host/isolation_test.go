package host_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/store"
)

// In these tests, a child's agent attempts known attacks on session tools. The tests of
// host/gateway/httpapi attempt those on the HTTP interface.

// outcome calls a tool and summarizes the answer: the listed keys, the number of
// messages, or the failure.
func outcome(call func(tool, args string) (*runner.Answer, error), tool, args string) string {
	answer, err := call(tool, args)
	if err != nil {
		return "error: " + err.Error()
	}
	result := gjson.ParseBytes(answer.Result)
	switch failure := result.Get("error").Str; {
	case failure != "":
		return string(answer.Code) + ": " + failure
	case tool == abi.ToolList:
		keys := []string{}
		for _, key := range result.Get("sessions.#.key").Array() {
			keys = append(keys, key.Str)
		}
		slices.Sort(keys)
		return strings.Join(keys, " ")
	case tool == abi.ToolHistory:
		return fmt.Sprint(result.Get("messages.#").Int(), " messages of ", result.Get("sessionKey").Str)
	}
	return result.Get("status").Str
}

// toolsOf returns a function that calls tools in a turn.
func toolsOf(ctx context.Context, turn *runner.Turn) func(tool, args string) (*runner.Answer, error) {
	return func(tool, args string) (*runner.Answer, error) {
		return turn.Tools.Call(ctx, tool, []byte(args))
	}
}

// probes are calls that try to reach sessions outside the sandbox.
var probes = [][2]string{
	{abi.ToolList, `{}`},
	{abi.ToolList, `{"agentId":"ops"}`},
	{abi.ToolHistory, `{"sessionKey":"agent:main:b"}`},
	{abi.ToolHistory, `{"sessionKey":"agent:ops:main"}`},
	{abi.ToolSend, `{"sessionKey":"agent:ops:main","message":"let me out","timeoutSeconds":0,"announce":"none"}`},
}

func probeAll(call func(tool, args string) (*runner.Answer, error)) string {
	var seen []string
	for _, v := range probes {
		seen = append(seen, outcome(call, v[0], v[1]))
	}
	return strings.Join(seen, "\n")
}

// A sandboxed session spawns a child of an agent that is not sandboxed, to read and send
// through that child. The child and every later run in its session must be sandboxed
// like the parent, although the settings make all sessions visible to the child's agent,
// and regardless of the sender of the run's message (S5.2, S7.3).
func TestSandboxAppliesToChildOfOtherAgent(t *testing.T) {
	t.Parallel()
	const settings = `{
	  tools: { sessions: { visibility: "all" }, agentToAgent: { enabled: true }, subagents: { tools: { allow: ["*"] } } },
	  agents: { list: [
	    { id: "main", default: true, sandbox: { mode: "all" }, subagents: { allowAgents: ["*"] } },
	    { id: "ops", sandbox: { mode: "off" } },
	  ] },
	}`
	type seen struct {
		sandboxed bool
		outlook   string
	}
	turns := make(chan seen, 1)
	h := startHost(t, openTestDB(t, dbPath(t)), settings, func(ctx context.Context, turn *runner.Turn) (string, error) {
		switch {
		case turn.Message == "spawn":
			answer, err := turn.Tools.Call(ctx, abi.ToolSpawn, []byte(`{"task":"look","agentId":"ops","announce":"none"}`))
			if err != nil {
				return "", err
			}
			return gjson.GetBytes(answer.Result, "childSessionKey").Str, nil
		case strings.HasPrefix(turn.Message, "send to "):
			_, id, err := sendFromTurn(ctx, turn, fmt.Sprintf(`{"sessionKey":%q,"message":"look","timeoutSeconds":0,"announce":"none"}`, turn.Message[len("send to "):]))
			return id, err
		case turn.Message == "look":
			turns <- seen{turn.Sandboxed, probeAll(toolsOf(ctx, turn))}
		}
		return "REPLY_SKIP", nil
	})
	child := awaitReply(t, h, startRun(t, h, "agent:main:a", "spawn"))
	if !strings.HasPrefix(child, "agent:ops:subagent:") {
		t.Fatalf("the child is %q", child)
	}
	const why = `: this session is sandboxed and agents.defaults.sandbox.sessionToolsVisibility is "spawned": only this session and the sessions it spawned are visible`
	held := child + "\n" + child +
		"\nforbidden: session \"agent:main:b\" is not visible here" + why +
		strings.Repeat("\nforbidden: session \"agent:ops:main\" is not visible here"+why, 2)
	for _, way := range []struct {
		name string
		send func()
	}{
		{"its own run", func() {}},
		{"a message by its parent's sessions_send", func() { awaitReply(t, h, startRun(t, h, "agent:main:a", "send to "+child)) }},
		{"a message by another agent's sessions_send", func() { awaitReply(t, h, startRun(t, h, "agent:ops:main", "send to "+child)) }},
		{"a message by /v1/agent", func() { startRun(t, h, child, "look") }},
	} {
		way.send()
		if got := <-turns; !got.sandboxed || got.outlook != held {
			t.Errorf("%s: sandboxed %t, it sees\n%s\nwant\n%s", way.name, got.sandboxed, got.outlook, held)
		}
	}
	got := probeAll(func(tool, args string) (*runner.Answer, error) {
		a, err := h.Call(t.Context(), &host.Call{Tool: tool, Args: []byte(args), Caller: session(child)})
		if err != nil {
			return nil, err
		}
		return &runner.Answer{Result: a.Result, Code: a.Code}, nil
	})
	if got != held {
		t.Errorf("a connection of the child sees\n%s\nwant\n%s", got, held)
	}
	if n := countRuns(t, h, "agent:ops:main"); n != 1 {
		t.Errorf("%d runs in the session that it may not reach, want only the test's own run", n)
	}

	// Control: a session that is not sandboxed sees everything.
	startRun(t, h, "agent:ops:main", "look")
	if got := <-turns; got.sandboxed || strings.Contains(got.outlook, "forbidden") || !strings.Contains(got.outlook, "agent:main:b") {
		t.Errorf("a session without sandbox: sandboxed %t, it sees\n%s", got.sandboxed, got.outlook)
	}
}

// childAnswers spawns a child that makes the given calls about its parent, and returns
// their answers by call. stored determines whether the parent's session is stored.
func childAnswers(t *testing.T, settings, agentID, parent string, stored bool, calls [][2]string) map[string]string {
	t.Helper()
	db := openTestDB(t, dbPath(t))
	if stored {
		putSessions(t, db, abi.Session{Key: parent, SessionID: "id-of-the-parent", Label: "the parent", LastChannel: "telegram", LastTo: "1", UpdatedAt: 2})
	}
	got := make(chan map[string]string, 1)
	h := startHost(t, db, settings, func(ctx context.Context, turn *runner.Turn) (string, error) {
		if turn.Message != "spy" { // a message of the child, which must not arrive
			return "REPLY_SKIP", nil
		}
		answers := map[string]string{}
		for _, c := range calls {
			answer, err := turn.Tools.Call(ctx, c[0], []byte(c[1]))
			if err != nil {
				answers[c[0]+" "+c[1]] = err.Error()
				continue
			}
			answers[c[0]+" "+c[1]] = strings.ReplaceAll(string(answer.Code)+" "+string(answer.Result), turn.SessionKey, "CHILD")
		}
		got <- answers
		return "", nil
	})
	s := spawn(t, h, session(parent), fmt.Sprintf(`{"task":"spy","agentId":%q,"announce":"none"}`, agentID))
	answers := <-got
	awaitStatus(t, h, s.flow)
	for _, key := range []string{parent, "agent:main:b"} {
		if n := countRuns(t, h, key); n != 0 {
			t.Errorf("%d messages reached %s", n, key)
		}
	}
	if runs, err := h.Runs(t.Context(), &store.Filter{}); err != nil || len(runs) != 1 {
		t.Errorf("%d runs, %v; want only the child's", len(runs), err)
	}
	return answers
}

// referenceCalls returns calls that read from and send to each of the session references.
func referenceCalls(texts ...string) (calls [][2]string) {
	for _, text := range texts {
		calls = append(calls,
			[2]string{abi.ToolHistory, fmt.Sprintf(`{"sessionKey":%q}`, text)},
			[2]string{abi.ToolSend, fmt.Sprintf(`{"sessionKey":%q,"message":"hello","timeoutSeconds":0,"announce":"none"}`, text)})
	}
	return calls
}

// visibilitySettings returns settings with a visibility and all tools for children.
func visibilitySettings(visibility string) string {
	return fmt.Sprintf(`{
	  tools: { sessions: { visibility: %q }, subagents: { tools: { allow: ["*"] } } },
	  agents: { list: [{ id: "main", default: true, subagents: { allowAgents: ["*"] } }, { id: "ops" }] },
	}`, visibility)
}

// expectHidden checks that every call was refused with this code and reason, or listed
// nothing. The answers must be the same as those when the session is not stored.
func expectHidden(t *testing.T, name string, stored, absent map[string]string, code abi.Code, reason string) {
	t.Helper()
	if !maps.Equal(stored, absent) {
		for call, answer := range stored {
			if answer != absent[call] {
				t.Errorf("%s: %s is answered\n%s\nand, if the session does not exist,\n%s", name, call, answer, absent[call])
			}
		}
	}
	for call, answer := range stored {
		code, reason := code, reason
		if strings.HasPrefix(call, abi.ToolList+" ") {
			code, reason = "", `"count":0,"sessions":[]`
		}
		if !strings.HasPrefix(answer, string(code)+" ") || !strings.Contains(answer, reason) {
			t.Errorf("%s: %s is answered %s; want %s, … %s", name, call, answer, code, reason)
		}
	}
}

// A child refers to its parent's session by every form of its key, to read from it or
// send to it. The visible tree is the caller and its descendants, never its parent
// (S7.1). The canonical key decides, not the text (S1.5). The answer is the same as if
// the session did not exist (S7.4).
func TestParentHiddenByKey(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, visibility, agentID, parent, reason string
		texts                                     []string
	}{
		{"the main session", "tree", "main", "agent:main:main", `tools.sessions.visibility is \"tree\"`,
			[]string{"main", "agent:main:main", "agent:MAIN:main", " agent:main:main ", "\tmain"}},
		{"another session", "tree", "main", "agent:main:telegram:group:-1", `tools.sessions.visibility is \"tree\"`,
			[]string{"agent:main:telegram:group:-1", "telegram:group:-1", "agent:MAIN:telegram:group:-1", " telegram:group:-1"}},
		{"a session of another agent", "agent", "ops", "agent:main:main", `tools.sessions.visibility is \"agent\"`,
			[]string{"agent:main:main", "agent:MAIN:main"}},
		{"a session of another agent, without agentToAgent", "all", "ops", "agent:main:main", "tools.agentToAgent.enabled is false",
			[]string{"agent:main:main", "agent:MAIN:main"}},
		{"visibility self", "self", "main", "agent:main:main", `tools.sessions.visibility is \"self\"`,
			[]string{"main", "agent:main:main"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			calls := referenceCalls(c.texts...)
			stored := childAnswers(t, visibilitySettings(c.visibility), c.agentID, c.parent, true, calls)
			absent := childAnswers(t, visibilitySettings(c.visibility), c.agentID, c.parent, false, calls)
			expectHidden(t, c.name, stored, absent, abi.Forbidden, c.reason)
		})
	}
}

// A child refers to its parent by sessionId, label, or a text that only resembles a
// key. The tool searches only sessions visible to the caller (S1.5, S4.2), so it answers
// that no such session exists.
func TestParentHiddenByIDOrLabel(t *testing.T) {
	t.Parallel()
	byName := append(referenceCalls("id-of-the-parent", " id-of-the-parent ", "AGENT:main:main", "Main"),
		[2]string{abi.ToolSend, `{"label":"the parent","message":"hello","timeoutSeconds":0,"announce":"none"}`},
		[2]string{abi.ToolSend, `{"label":"the parent","agentId":"main","message":"hello","timeoutSeconds":0,"announce":"none"}`},
		[2]string{abi.ToolList, `{"label":"the parent"}`},
		[2]string{abi.ToolList, `{"search":"parent"}`},
		[2]string{abi.ToolList, `{"search":"PARENT","includeArchived":true}`},
		[2]string{abi.ToolList, `{"agentId":"main","kinds":["main"],"limit":1}`})
	for _, c := range []struct{ visibility, agentID string }{{"self", "main"}, {"tree", "main"}, {"agent", "ops"}, {"all", "ops"}} {
		stored := childAnswers(t, visibilitySettings(c.visibility), c.agentID, "agent:main:main", true, byName)
		absent := childAnswers(t, visibilitySettings(c.visibility), c.agentID, "agent:main:main", false, byName)
		expectHidden(t, c.visibility+", for a child of "+c.agentID, stored, absent, abi.NotFound, "is visible here")
	}
	// Control: the same calls reach the session where it is visible.
	db := openTestDB(t, dbPath(t))
	putSessions(t, db, abi.Session{Key: "agent:main:main", SessionID: "id-of-the-parent", Label: "the parent"})
	h := startHost(t, db, visibilitySettings("agent"), func(context.Context, *runner.Turn) (string, error) { return "REPLY_SKIP", nil })
	for _, c := range slices.Concat(referenceCalls("main", "agent:MAIN:main", "id-of-the-parent"), byName[8:]) {
		answer, err := h.Call(t.Context(), &host.Call{Tool: c[0], Args: []byte(c[1]), Caller: session("agent:main:a")})
		if err != nil || answer.Code != "" || gjson.GetBytes(answer.Result, "count").Raw == "0" {
			t.Errorf("where it is visible, %s %s is answered %+v, %v", c[0], c[1], answer, err)
		}
	}
}

// The caller of a session is sandboxed, but the settings do not sandbox the session. The
// caller spawns a child whose report triggers a run in the session. That run must be
// sandboxed too (S7.3).
func TestSandboxAppliesToReportRun(t *testing.T) {
	t.Parallel()
	const settings = `{
	  tools: { sessions: { visibility: "all" }, agentToAgent: { enabled: true } },
	  agents: { list: [{ id: "main", default: true }, { id: "ops" }] },
	}`
	turns := make(chan string, 1)
	h := startHost(t, openTestDB(t, dbPath(t)), settings, func(ctx context.Context, turn *runner.Turn) (string, error) {
		if turn.SessionKey == "agent:main:a" {
			turns <- fmt.Sprint(turn.Sandboxed, " ", outcome(toolsOf(ctx, turn), abi.ToolHistory, `{"sessionKey":"agent:ops:main"}`))
		}
		return "look at agent:ops:main", nil
	})
	as := session("agent:main:a")
	as.Sandboxed = true
	spawn(t, h, as, `{"task":"look","announce":"parent"}`)
	if got := <-turns; !strings.HasPrefix(got, "true forbidden: ") || !strings.Contains(got, "sandboxed") {
		t.Errorf("the report's run sees %s", got)
	}
	startRun(t, h, "agent:main:a", "by its owner")
	if got := <-turns; !strings.HasPrefix(got, "false ") {
		t.Errorf("the owner's run sees %s", got)
	}
}
