package host_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/store"
)

// countStored returns the numbers of stored sessions, flows, runs and deliveries.
func countStored(t *testing.T, h *host.Host) (n [4]int) {
	t.Helper()
	answer, err := h.Call(t.Context(), &host.Call{Tool: abi.ToolList, Caller: operator, Args: []byte(`{"limit":200,"includeArchived":true}`)})
	if err != nil {
		t.Fatal(err)
	}
	flows, err := h.Flows(t.Context(), &store.Filter{})
	runs, err2 := h.Runs(t.Context(), &store.Filter{})
	deliveries, err3 := h.Deliveries(t.Context(), &store.Filter{})
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	return [...]int{int(gjson.GetBytes(answer.Result, "count").Int()), len(flows), len(runs), len(deliveries)}
}

// An invalid spawn is refused before anything is stored, with a text that describes the
// error and what to do (S0.1, S0.2, S5.1, S5.2). Its call id stays free.
func TestInvalidSpawns(t *testing.T) {
	t.Parallel()
	const settings = `{
	  models: { allow: ["small", "large"] },
	  agents: { list: [
	    { id: "main", default: true, subagents: { allowAgents: ["ops", "docs"] } }, { id: "ops" }, { id: "docs" }, { id: "vault" },
	    { id: "lone" }, { id: "odd", subagents: { model: "nosuch" } },
	  ] },
	}`
	db := openTestDB(t, dbPath(t))
	putSessions(t, db, abi.Session{Key: "agent:main:subagent:1", SessionID: "s1"}, abi.Session{Key: "agent:main:own-name", SessionID: "s2", SpawnedBy: "agent:main:a"})
	h := newHost(t, db, settings, func(context.Context, *runner.Turn) (string, error) { return "REPLY_SKIP", nil })
	a, label65 := session("agent:main:a"), strings.Repeat("é", 65)
	before := countStored(t, h)
	for _, tt := range []struct {
		name, args string
		as         abi.Caller
		code       abi.Code
		texts      []string // parts of the error text
	}{
		{"no task", `{}`, a, abi.InvalidArgs, []string{"task", "what the child is to do"}},
		{"a blank task", `{"task":" \n\t"}`, a, abi.InvalidArgs, []string{"task", "what the child is to do"}},
		{"a task that is not a string", `{"task":["do it"]}`, a, abi.InvalidArgs, []string{"task"}},
		{"a task that is one byte too long", `{"task":"` + strings.Repeat("x", abi.MaxText+1) + `"}`, a, abi.InvalidArgs, []string{"task is longer than 1048576 bytes", "write less"}},
		{"an unknown parameter", `{"task":"x","agent":"ops"}`, a, abi.InvalidArgs, []string{`unknown parameter "agent"`, "accepted are", "agentId", "runTimeoutSeconds"}},
		{"an agent that is not configured", `{"task":"x","agentId":"nobody"}`, a, abi.NotFound, []string{`agentId "nobody" is not a configured agent`, "agents_list shows"}},
		{"an agent that is not allowed", `{"task":"x","agentId":"vault"}`, a, abi.Forbidden, []string{`agentId "vault" is not allowed for agent main`, "agents.list[].subagents.allowAgents", "allowed are: main, docs, ops"}},
		{"another agent, without a list of allowed agents", `{"task":"x","agentId":"ops"}`, session("agent:lone:x"), abi.Forbidden, []string{"not allowed for agent lone", "allowed are: lone"}},
		{"an id that is a path", `{"task":"x","agentId":"../ops"}`, a, abi.InvalidArgs, []string{"agentId", "1 to 64 of a-z, 0-9, _ and -"}},
		{"an id that is a pattern", `{"task":"x","agentId":"*"}`, a, abi.InvalidArgs, []string{"agentId", "1 to 64 of a-z, 0-9, _ and -"}},
		{"an id that is a key", `{"task":"x","agentId":"agent:ops:main"}`, a, abi.InvalidArgs, []string{"agentId", "1 to 64 of a-z, 0-9, _ and -"}},
		{"an id with a space", `{"task":"x","agentId":"o ps"}`, a, abi.InvalidArgs, []string{"agentId", "1 to 64 of a-z, 0-9, _ and -"}},
		{"an id of 65 characters", `{"task":"x","agentId":"` + strings.Repeat("a", 65) + `"}`, a, abi.InvalidArgs, []string{"agentId", "1 to 64 of a-z, 0-9, _ and -"}},
		{"an unknown model", `{"task":"x","model":"huge"}`, a, abi.NotFound, []string{`model "huge" is not a known model`, "models.allow has: small, large"}},
		{"a configured model that is unknown", `{"task":"x"}`, session("agent:odd:x"), abi.NotFound, []string{`"nosuch" is not a known model`, "models.allow has: small, large"}},
		{"an invalid cleanup", `{"task":"x","cleanup":"archive"}`, a, abi.InvalidArgs, []string{"cleanup", "keep", "delete"}},
		{"an invalid announce", `{"task":"x","announce":"nobody"}`, a, abi.InvalidArgs, []string{"announce", "channel", "parent", "none"}},
		{"a result that is neither announced nor kept", `{"task":"x","announce":"none","cleanup":"delete"}`, a, abi.InvalidArgs, []string{`"none" and cleanup "delete" exclude each other`, "nobody would ever see the result"}},
		{"a label of 65 characters", `{"task":"x","label":"` + label65 + `"}`, a, abi.InvalidArgs, []string{"label is longer than 64 characters", "write less"}},
		{"a negative time", `{"task":"x","runTimeoutSeconds":-1}`, a, abi.InvalidArgs, []string{"runTimeoutSeconds"}},
		{"a time that is a string", `{"task":"x","runTimeoutSeconds":"60"}`, a, abi.InvalidArgs, []string{"runTimeoutSeconds"}},
		{"a caller that is a child by its key", `{"task":"x"}`, session("agent:main:subagent:1"), abi.Forbidden, []string{"children cannot spawn children", "do the task here"}},
		{"a caller that is a child by its parent", `{"task":"x"}`, session("agent:main:own-name"), abi.Forbidden, []string{"children cannot spawn children", "do the task here"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			answer, err := h.Call(t.Context(), &host.Call{Tool: abi.ToolSpawn, Caller: tt.as, ID: "the-same", Args: []byte(tt.args)})
			if err != nil {
				t.Fatal(err)
			}
			status := map[bool]string{true: "forbidden", false: "error"}[tt.code == abi.Forbidden]
			if answer.Code != tt.code || answer.FlowID != "" || gjson.GetBytes(answer.Result, "status").Str != status {
				t.Errorf("answered %s %.600s, want %s", answer.Code, answer.Result, tt.code)
			}
			text := gjson.GetBytes(answer.Result, "error").Str
			for _, part := range tt.texts {
				if !strings.Contains(text, part) {
					t.Errorf("the error text is %.600q; want … %s", text, part)
				}
			}
			if now := countStored(t, h); now != before {
				t.Errorf("there are %v sessions, flows, runs and deliveries; before there were %v", now, before)
			}
		})
	}
	// A valid spawn is accepted with the same call id.
	answer, err := h.Call(t.Context(), &host.Call{Tool: abi.ToolSpawn, Caller: a, ID: "the-same", Args: []byte(
		`{"task":" x ","agentId":" DOCS ","label":"` + label65[2:] + `","model":"large","cleanup":"delete","announce":"parent","runTimeoutSeconds":1.9}`)})
	if err != nil || answer.Code != "" {
		t.Fatalf("%+v, %v", answer, err)
	}
	if now, want := countStored(t, h), [...]int{before[0] + 1, before[1] + 1, before[2] + 1, before[3]}; now != want {
		t.Errorf("there are %v sessions, flows, runs and deliveries; want %v", now, want)
	}
	runs, err := h.Runs(t.Context(), &store.Filter{})
	if err != nil || runs[0].Message != "x" || runs[0].TimeoutSeconds != 1 || runs[0].AgentID != "docs" {
		t.Errorf("%+v, %v", runs[0], err)
	}
}
