package policy_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/policy"
)

var child = abi.Caller{SessionKey: "agent:main:subagent:1", AgentID: "main", RunID: "r", Depth: 1}

// TestChildTools checks the tools of children under settings (S5.4).
func TestChildTools(t *testing.T) {
	const (
		allowMissing = "tools.subagents.tools.allow"
		spawn        = "no setting allows it"
	)
	denied := func(pattern string) string { return `tools.subagents.tools.deny has "` + pattern + `"` }
	for _, tt := range []struct {
		allow, deny []string
		want        map[string]string // by tool: a part of the refusal's text; "" means allowed
	}{
		{nil, nil, map[string]string{
			"sessions_list": allowMissing, "sessions_history": allowMissing, "sessions_send": allowMissing, "agents_list": allowMissing, "sessions_spawn": spawn,
			"exec": "", "sessions_lists": "", "sessions_": "", "Sessions_List": "",
		}},
		{[]string{"sessions_list"}, nil, map[string]string{"sessions_list": "", "sessions_history": allowMissing, "exec": ""}},
		{[]string{"sessions_*"}, nil, map[string]string{"sessions_list": "", "sessions_send": "", "agents_list": allowMissing, "sessions_spawn": spawn}},
		{[]string{"exec"}, nil, map[string]string{"exec": "", "read": "", "sessions_list": allowMissing}},
		{[]string{"*"}, nil, map[string]string{"sessions_list": "", "agents_list": "", "exec": "", "sessions_spawn": spawn}},
		{[]string{"sessions_spawn"}, nil, map[string]string{"sessions_spawn": spawn}},
		{nil, []string{"exec"}, map[string]string{"exec": denied("exec"), "read": "", "sessions_list": allowMissing}},
		{nil, []string{"*"}, map[string]string{"exec": denied("*"), "read": denied("*"), "sessions_list": denied("*"), "sessions_spawn": spawn}},
		{[]string{"*"}, []string{"sessions_send"}, map[string]string{"sessions_send": denied("sessions_send"), "sessions_list": ""}},
		{[]string{"sessions_send"}, []string{"read", "*_send"}, map[string]string{"sessions_send": denied("*_send"), "read": denied("read")}},
		{[]string{"*"}, []string{"*"}, map[string]string{"sessions_list": denied("*"), "exec": denied("*")}},
		{[]string{""}, []string{""}, map[string]string{"exec": "", "sessions_list": allowMissing}},
	} {
		p := policy.Tools{Allow: tt.allow, Deny: tt.deny}
		for tool, want := range tt.want {
			err := p.Check(&child, tool)
			switch {
			case want == "" && err != nil:
				t.Errorf("S5.4 allow %q, deny %q: %s is refused: %v", tt.allow, tt.deny, tool, err)
			case want != "" && (!errors.Is(err, abi.Forbidden) || !strings.HasPrefix(err.Error(), tool+" ") || !strings.Contains(err.Error(), want)):
				t.Errorf("S5.4 allow %q, deny %q: %s: %v; want Forbidden and %q", tt.allow, tt.deny, tool, err, want)
			}
		}
	}
}

// TestUnrestrictedCallers checks that only runs of children are restricted, and that no
// child may spawn.
func TestUnrestrictedCallers(t *testing.T) {
	p := policy.Tools{Deny: []string{"*"}}
	for name, caller := range map[string]abi.Caller{
		"the operator":         {Operator: true},
		"a session":            {SessionKey: "agent:main:main", AgentID: "main"},
		"a run":                {SessionKey: "agent:main:main", AgentID: "main", RunID: "r", Hops: 3, Sandboxed: true},
		"a child's connection": {SessionKey: "agent:main:subagent:1", AgentID: "main", Depth: 1},
	} {
		for _, tool := range []string{abi.ToolList, abi.ToolHistory, abi.ToolSend, abi.ToolSpawn, abi.ToolAgents, "exec"} {
			err := p.Check(&caller, tool)
			if never := caller.Depth > 0 && tool == abi.ToolSpawn; (err != nil) != never {
				t.Errorf("%s: %s: %v, want forbidden %v", name, tool, err, never)
			}
		}
	}
}
