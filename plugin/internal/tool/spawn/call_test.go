package spawn

import (
	"reflect"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/plugin/internal/flow/flowtest"
)

const agents = `"agents":{"defaults":{"subagents":{"maxChildrenPerAgent":3}},"list":[{"id":"main","subagents":{"allowAgents":["ops"]}},{"id":"ops"},{"id":"dev"}]},"models":{"allow":["small","large"]}`

func TestCall(t *testing.T) {
	d := drive(t, mainCaller)
	d.Config = "{" + agents + "}"
	d.MustCall(`{"task":" Count. ","label":" l ","agentId":"OPS","model":"small","thinking":"high","runTimeoutSeconds":60.5}`)
	const key = "agent:ops:subagent:1"
	if got, want := string(d.Last.Result), `{"status":"accepted","runId":"run-1","childSessionKey":"`+key+`","model":"small"}`; got != want {
		t.Errorf("S5.3 got %s, want %s", got, want)
	}
	if want := []abi.CreateRequest{{AgentID: "ops", Label: "l", Model: "small", ThinkingLevel: "high", MaxActive: 3}}; !reflect.DeepEqual(d.Work.Created, want) {
		t.Errorf("S5.3 created %+v, want %+v", d.Work.Created, want)
	}
	r := d.Work.Runs[0]
	if r.SessionKey != key || r.Message != "Count." || r.Source != "" || r.Group != abi.GroupSubagent || r.NoTools || r.TimeoutSeconds != 60 {
		t.Errorf("S5.3 started %+v", r)
	}
	if d.Last.Wait.Run != "run-1" || d.Last.Wait.Until != 0 || d.Last.Code != "" {
		t.Errorf("S5.3 waits %+v, code %s", d.Last.Wait, d.Last.Code)
	}
	d.WantNote("waiting for the child " + key).WantSent()
	if calls := d.Store.Calls; calls[abi.OpGet] != 1 || len(calls) != 1 {
		t.Errorf("S5.3 reads %v", calls)
	}
}

// The operator has no session to read.
func TestCallOfTheOperator(t *testing.T) {
	d := drive(t, operator).MustCall(`{"task":"Count."}`)
	if len(d.Store.Calls) != 0 || d.Work.Created[0].AgentID != "main" {
		t.Errorf("reads %v, creates %+v", d.Store.Calls, d.Work.Created)
	}
}

// S5.2: refused calls write nothing.
func TestCallRefused(t *testing.T) {
	childCaller := abi.Caller{SessionKey: child, AgentID: "main", Depth: 1}
	many := mainCaller
	many.Hops = 8
	for _, tt := range []struct {
		name   string
		caller abi.Caller
		args   string
		code   abi.Code
		text   string
	}{
		{"not an object", mainCaller, `[]`, abi.InvalidArgs, "must be a JSON object"},
		{"no task", mainCaller, `{}`, abi.InvalidArgs, "task is required: what the child is to do"},
		{"a long task", mainCaller, `{"task":"` + strings.Repeat("x", abi.MaxText+1) + `"}`, abi.InvalidArgs, "task is longer than 1048576 bytes; write less"},
		{"a long label", mainCaller, `{"task":"x","label":"` + strings.Repeat("é", 65) + `"}`, abi.InvalidArgs, "label is longer than 64 characters"},
		{"malformed agent id", mainCaller, `{"task":"x","agentId":"a b"}`, abi.InvalidArgs, "agentId"},
		{"negative timeout", mainCaller, `{"task":"x","runTimeoutSeconds":-1}`, abi.InvalidArgs, "runTimeoutSeconds"},
		{"unknown cleanup", mainCaller, `{"task":"x","cleanup":"Keep"}`, abi.InvalidArgs, "cleanup"},
		{"unknown announce", mainCaller, `{"task":"x","announce":"both"}`, abi.InvalidArgs, "announce"},
		{"none and delete", mainCaller, `{"task":"x","announce":"none","cleanup":"delete"}`, abi.InvalidArgs, "nobody would ever see the result"},
		{"unknown parameter", mainCaller, `{"task":"x","Task":"x"}`, abi.InvalidArgs, "its name is task"},
		{"a child", childCaller, `{"task":"x"}`, abi.Forbidden, "children cannot spawn children"},
		{"a child by caller.depth", abi.Caller{SessionKey: main, AgentID: "main", Depth: 1}, `{"task":"x"}`, abi.Forbidden, "children cannot spawn children"},
		{"a child by its stored row", abi.Caller{SessionKey: "agent:main:kid", AgentID: "main"}, `{"task":"x"}`, abi.Forbidden, "children cannot spawn children"},
		{"the end of a chain", many, `{"task":"x"}`, abi.Forbidden, "without spawning"},
		{"unknown agent", mainCaller, `{"task":"x","agentId":"ghost"}`, abi.NotFound, `agentId "ghost" is not a configured agent; agents_list shows`},
		{"agent not allowed", mainCaller, `{"task":"x","agentId":"dev"}`, abi.Forbidden, `agentId "dev" is not allowed for agent main (agents.list[].subagents.allowAgents); allowed are: main, ops`},
		{"unknown model", mainCaller, `{"task":"x","model":"big"}`, abi.NotFound, `model "big" is not a known model; models.allow has: small, large`},
	} {
		d := drive(t, tt.caller)
		d.Config = "{" + agents + "}"
		d.Store.Sessions = append(d.Store.Sessions, abi.Session{Key: "agent:main:kid", SessionID: "s-kid", UpdatedAt: 1, SpawnedBy: "agent:ops:main"})
		flowtest.WantRefused(t, d.Call(tt.args), false, tt.code, tt.text)
		if len(d.Work.Created)+len(d.Work.Runs) > 0 {
			t.Errorf("%s: created %+v, started %+v", tt.name, d.Work.Created, d.Work.Runs)
		}
	}
}

// The error for a configured model that models.allow lacks names its setting.
func TestModelFromSettings(t *testing.T) {
	d := drive(t, mainCaller)
	d.Config = `{"models":{"allow":[]},"agents":{"defaults":{"subagents":{"model":"big"}}}}`
	flowtest.WantRefused(t, d.Call(`{"task":"x"}`), false, abi.NotFound, `agents.defaults.subagents.model "big" is not a known model; models.allow has: none`)
}

// A refusal truncates long lists.
func TestLongLists(t *testing.T) {
	list, models := `{"id":"main","subagents":{"allowAgents":["*"]}}`, `"m"`
	for _, c := range "abcdefghijklmnopqrstuvwxyz" {
		list += `,{"id":"` + strings.Repeat(string(c), 64) + `"}`
		models += `,"` + strings.Repeat(string(c), 200) + `"`
	}
	d := drive(t, mainCaller)
	d.Config = `{"models":{"allow":[` + models + `]},"agents":{"list":[` + list + `,{"id":"main2"}]}}`
	d.Caller.AgentID = "main2" // may spawn no other agent
	for _, args := range []string{`{"task":"x","agentId":"main"}`, `{"task":"x","model":"big"}`} {
		if err := d.Call(args); err == nil || len(err.Error()) > 4<<10 {
			t.Errorf("%s: %v", args, err)
		}
	}
}

// The host refuses requests of the first step.
func TestCallRefusedByHost(t *testing.T) {
	d := drive(t, mainCaller)
	d.Work.Refuse[""] = abi.NewError(abi.Forbidden, "the session has 5 children at work")
	flowtest.WantRefused(t, d.Call(`{"task":"x"}`), false, abi.Forbidden,
		"no more children now: the session has 5 children at work (agents.defaults.subagents.maxChildrenPerAgent is 5); do the task here, or spawn again when one has ended")
	d.Work.Refuse[""] = abi.NewError(abi.Limit, "too many effects")
	flowtest.WantRefused(t, d.Call(`{"task":"x"}`), true, abi.Limit, "too many effects")
	delete(d.Work.Refuse, "")
	d.Work.Refuse[child] = abi.NewError(abi.Internal, "broken")
	flowtest.WantRefused(t, d.Call(`{"task":"x"}`), true, abi.Internal, "broken")
	d = drive(t, mainCaller)
	d.Config = `{"tools":{"sessions":{"visibility":"x"}}}`
	flowtest.WantRefused(t, d.Call(`{"task":"x"}`), true, abi.Internal, "tools.sessions.visibility")
}
