package visibility

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/policy"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/plugin/rules/settings"
)

const caller = "agent:main:telegram:dm:1"

// targets are the sessions with which every combination of settings is tested.
var targets = map[string]abi.Session{
	"self":          {Key: caller},
	"child":         {Key: "agent:main:subagent:1", SpawnedBy: caller},
	"child of ops":  {Key: "agent:ops:subagent:1", SpawnedBy: caller},
	"same agent":    {Key: "agent:main:cron:x"},
	"main":          {Key: "agent:main:main"},
	"other agent":   {Key: "agent:ops:main"},
	"third agent":   {Key: "agent:dev:main"},
	"child of main": {Key: "agent:main:subagent:2", SpawnedBy: "agent:main:main"},
}

func TestSees(t *testing.T) {
	const a2a = `"agentToAgent":{"enabled":true,"allow":["main","op*"]}`
	tests := []struct {
		name      string
		config    string
		sandboxed bool
		want      string // names of the visible targets
		setting   string // named in the refusal of the third agent
	}{
		{"S7.1 self", `{"tools":{"sessions":{"visibility":"self"}}}`, false, "self", "tools.sessions.visibility"},
		{"S7.1 default", `{}`, false, "self, child, child of ops", "tools.sessions.visibility"},
		{"S7.1 tree", `{"tools":{"sessions":{"visibility":"tree"},` + a2a + `}}`, false, "self, child, child of ops", "tools.sessions.visibility"},
		{"S7.1 agent", `{"tools":{"sessions":{"visibility":"agent"},` + a2a + `}}`, false, "self, child, child of ops, same agent, main, child of main", "tools.sessions.visibility"},
		{"S7.2 all without agentToAgent", `{"tools":{"sessions":{"visibility":"all"}}}`, false, "self, child, child of ops, same agent, main, child of main", "tools.agentToAgent.enabled"},
		{"S7.2 all, disabled", `{"tools":{"sessions":{"visibility":"all"},"agentToAgent":{"enabled":false,"allow":["*"]}}}`, false, "self, child, child of ops, same agent, main, child of main", "tools.agentToAgent.enabled"},
		{"S7.2 all", `{"tools":{"sessions":{"visibility":"all"},` + a2a + `}}`, false, "self, child, child of ops, same agent, main, other agent, child of main", "tools.agentToAgent.allow"},
		{"S7.2 own agent not allowed", `{"tools":{"sessions":{"visibility":"all"},"agentToAgent":{"enabled":true,"allow":["ops"]}}}`, false, "self, child, child of ops, same agent, main, child of main", "tools.agentToAgent.allow"},
		{"S7.2 empty allows all", `{"tools":{"sessions":{"visibility":"all"},"agentToAgent":{"enabled":true,"allow":[]}}}`, false, "self, child, child of ops, same agent, main, other agent, third agent, child of main", ""},

		{"S7.3 self", `{"tools":{"sessions":{"visibility":"self"}}}`, true, "self", "tools.sessions.visibility"},
		{"S7.3 default", `{}`, true, "self, child, child of ops", "tools.sessions.visibility"},
		{"S7.3 agent", `{"tools":{"sessions":{"visibility":"agent"}}}`, true, "self, child, child of ops", "agents.defaults.sandbox.sessionToolsVisibility"},
		{"S7.3 all", `{"tools":{"sessions":{"visibility":"all"},` + a2a + `}}`, true, "self, child, child of ops", "agents.defaults.sandbox.sessionToolsVisibility"},
		{"S7.3 lifted, agent", `{"tools":{"sessions":{"visibility":"agent"}},"agents":{"defaults":{"sandbox":{"sessionToolsVisibility":"all"}}}}`, true, "self, child, child of ops, same agent, main, child of main", "tools.sessions.visibility"},
		{"S7.3 lifted, all", `{"tools":{"sessions":{"visibility":"all"},` + a2a + `},"agents":{"defaults":{"sandbox":{"sessionToolsVisibility":"all"}}}}`, true, "self, child, child of ops, same agent, main, other agent, child of main", "tools.agentToAgent.allow"},
		{"S7.3 lifted, self", `{"tools":{"sessions":{"visibility":"self"}},"agents":{"defaults":{"sandbox":{"sessionToolsVisibility":"all"}}}}`, true, "self", "tools.sessions.visibility"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := view(t, tt.config, &abi.Caller{SessionKey: caller, AgentID: "main", Sandboxed: tt.sandboxed})
			want := map[string]bool{}
			for _, name := range strings.Split(tt.want, ", ") {
				want[name] = true
			}
			scope := v.Scope()
			for name, s := range targets {
				if got := v.Sees(s.Key, &s); got != want[name] {
					t.Errorf("Sees(%s) = %v; want %v", name, got, want[name])
				}
				if got := inScope(scope, &s); got != want[name] {
					t.Errorf("the scope contains %s: %v; want %v: %+v", name, got, want[name], scope)
				}
				stored, absent := v.Check("x", s.Key, &s), v.Check("x", s.Key, nil)
				switch {
				case !want[name] && (!errors.Is(stored, abi.Forbidden) || stored.Error() != absent.Error()):
					t.Errorf("S7.4 %s: stored %v, absent %v", name, stored, absent)
				case want[name] && stored != nil:
					t.Errorf("S7.4 %s: %v", name, stored)
				case want[name] && s.SpawnedBy != caller && !errors.Is(absent, abi.NotFound):
					t.Errorf("S7.4 %s absent: %v; want not_found", name, absent)
				}
			}
			err := v.Check("x", "agent:dev:main", nil)
			if tt.setting == "" {
				if !errors.Is(err, abi.NotFound) {
					t.Errorf("S7.4 third agent, absent: %v", err)
				}
			} else if !strings.Contains(err.Error(), tt.setting) {
				t.Errorf("S7.4 %v does not name %s", err, tt.setting)
			}
		})
	}
}

// inScope reports whether a session is in a Scope, as package abi defines it.
func inScope(s *abi.Scope, row *abi.Session) bool {
	for _, k := range s.Keys {
		if k == row.Key {
			return true
		}
	}
	id, _, _ := sessionkey.Split(row.Key)
	return policy.MatchAny(s.Agents, id) || s.SpawnedBy != "" && s.SpawnedBy == row.SpawnedBy
}

func view(t *testing.T, config string, c *abi.Caller) *View {
	t.Helper()
	s, err := settings.Parse(config)
	if err != nil {
		t.Fatal(err)
	}
	return New(s, c)
}

func TestOperator(t *testing.T) {
	v := view(t, `{"tools":{"sessions":{"visibility":"self"}},"agents":{"list":[{"id":"ops"}]}}`, &abi.Caller{Operator: true})
	if v.Scope() != nil || v.Agent != "ops" || !v.Sees("agent:x:y", nil) || v.Show("agent:ops:main") != "main" {
		t.Errorf("S0.3: %+v", v)
	}
	if err := v.Check("x", "agent:x:y", nil); !errors.Is(err, abi.NotFound) {
		t.Errorf("S0.3 absent: %v", err)
	}
}

func TestGlobalScope(t *testing.T) {
	v := view(t, `{"session":{"scope":"global"},"tools":{"sessions":{"visibility":"agent"}}}`, &abi.Caller{SessionKey: "agent:ops:cron:x", AgentID: "ops"})
	if !v.Sees("global", nil) || v.Global() != "ops" || v.AgentOf("global") != "ops" || v.Show("global") != "main" {
		t.Errorf("S1.3: the global session is not the caller's: %+v", v)
	}
	for _, key := range []string{"global", "agent:main:main"} {
		v = view(t, `{"session":{"scope":"global"}}`, &abi.Caller{SessionKey: key, AgentID: "main"})
		if want := (&abi.Scope{Keys: []string{"global"}, SpawnedBy: "global"}); !reflect.DeepEqual(v.Scope(), want) {
			t.Errorf("S1.3 caller %s: scope %+v", key, v.Scope())
		}
	}
}

func TestCallerWithoutAgent(t *testing.T) {
	v := view(t, `{}`, &abi.Caller{SessionKey: "agent:ops:main"})
	if v.Agent != "ops" {
		t.Errorf("agent = %q", v.Agent)
	}
}
