package settings

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

func TestParse(t *testing.T) {
	keys := sessionkey.Settings{DefaultAgent: "main"}
	tests := []struct {
		name   string
		config string
		want   Settings
	}{
		{"defaults", `{}`, Settings{Keys: keys, Visibility: Tree}},
		{"empty text", ``, Settings{Keys: keys, Visibility: Tree}},
		{"nulls", `{"session":null,"tools":{"sessions":{"visibility":null},"agentToAgent":{"allow":null}},"agents":{"list":null}}`,
			Settings{Keys: keys, Visibility: Tree}},
		{"session", `{"session":{"mainKey":" home ","scope":"global","x":{}}}`,
			Settings{Keys: sessionkey.Settings{MainKey: "home", GlobalScope: true, DefaultAgent: "main"}, Visibility: Tree}},
		{"S7.1 self", `{"tools":{"sessions":{"visibility":"self"}}}`, Settings{Keys: keys, Visibility: Self}},
		{"S7.1 tree", `{"tools":{"sessions":{"visibility":"tree"}}}`, Settings{Keys: keys, Visibility: Tree}},
		{"S7.1 agent", `{"tools":{"sessions":{"visibility":"agent"}}}`, Settings{Keys: keys, Visibility: Agent}},
		{"S7.1 all", `{"tools":{"sessions":{"visibility":"all"}}}`, Settings{Keys: keys, Visibility: All}},
		{"S7.2", `{"tools":{"agentToAgent":{"enabled":true,"allow":["Ops-*"," dev "]}}}`,
			Settings{Keys: keys, Visibility: Tree, AgentToAgent: true, Allow: []string{"ops-*", "dev"}}},
		{"S7.2 malformed element matches nothing", `{"tools":{"agentToAgent":{"allow":[""," "]}}}`, Settings{Keys: keys, Visibility: Tree, Allow: []string{"", ""}}},
		{"S7.2 string instead of a list", `{"tools":{"agentToAgent":{"allow":"ops"}}}`, Settings{Keys: keys, Visibility: Tree, Allow: []string{""}}},
		{"S7.3", `{"agents":{"defaults":{"x":1,"sandbox":{"y":[],"sessionToolsVisibility":"all"}}}}`,
			Settings{Keys: keys, Visibility: Tree, SandboxSeesAll: true}},
		{"S1.4 first agent is the default", `{"agents":{"list":[{"id":"OPS","name":" Ops "},{"id":"dev"}]}}`,
			Settings{Keys: sessionkey.Settings{DefaultAgent: "ops"}, Visibility: Tree, Agents: []ConfiguredAgent{{ID: "ops", Name: "Ops"}, {ID: "dev"}}}},
		{"S1.4 marked default", `{"agents":{"list":[{"id":"ops"},{"id":"dev","default":true,"subagents":{"allowAgents":["*"],"z":0}},{"id":"ops"},{},7]}}`,
			Settings{Keys: sessionkey.Settings{DefaultAgent: "dev"}, Visibility: Tree,
				Agents: []ConfiguredAgent{{ID: "ops"}, {ID: "dev", Default: true, AllowAgents: []string{"*"}}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Parse(tt.config)
			if err != nil {
				t.Fatal(err)
			}
			tt.want.MaxPingPongTurns = 5
			tt.want.Children = Children{MaxActive: 5, ArchiveAfterMinutes: 60}
			if !reflect.DeepEqual(*got, tt.want) {
				t.Errorf("got  %+v\nwant %+v", *got, tt.want)
			}
		})
	}
}

func TestMaxPingPongTurns(t *testing.T) {
	for value, want := range map[string]int{`null`: 5, `0`: 0, `3`: 3, `2.9`: 2, `5`: 5, `6`: 5, `9e15`: 5, `-1`: 0, `-0.5`: 0} {
		s, err := Parse(`{"session":{"agentToAgent":{"maxPingPongTurns":` + value + `}}}`)
		if err != nil || s.MaxPingPongTurns != want {
			t.Errorf("S4.6 %s: %+v, %v; want %d", value, s, err, want)
		}
	}
}

func TestChildren(t *testing.T) {
	s, err := Parse(`{
		"session":{"announce":{"locale":"pt"}},"models":{"allow":["small"," Large ",""]},
		"agents":{"defaults":{"model":"base","subagents":{"model":"kid","maxChildrenPerAgent":2.5,"archiveAfterMinutes":0}},
			"list":[{"id":"a","model":"mine"},{"id":"b","subagents":{"model":"small","allowAgents":["c","a","ghost"]}},{"id":"c"}]}}`)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Children{MaxActive: 2, model: "kid"}); s.Children != want || !s.Portuguese {
		t.Errorf("S5.2 %+v", s)
	}
	for model, want := range map[string]bool{"small": true, "Large": true, "large": false, "mine": false} {
		if s.AllowsModel(model) != want {
			t.Errorf("S5.2 model %s is allowed: %v", model, !want)
		}
	}
	for agent, want := range map[string]string{"a": "kid", "b": "small", "c": "kid", "nobody": "kid"} {
		if got, _ := s.ChildModel(agent); got != want {
			t.Errorf("S5.2 a child under %s uses %q, want %q", agent, got, want)
		}
	}
	s.Children.model = ""
	for agent, want := range map[string]string{"a": "mine", "b": "small", "c": "base"} {
		if got, _ := s.ChildModel(agent); got != want {
			t.Errorf("S5.2 a child under %s uses %q, want %q", agent, got, want)
		}
	}
	for _, tt := range []struct {
		own      string
		operator bool
		any      bool
		want     []string
	}{{"a", false, false, nil}, {"b", false, false, []string{"a", "c"}}, {"a", true, true, []string{"b", "c"}}} {
		if any, ids := s.Allowed(tt.own, tt.operator); any != tt.any || !reflect.DeepEqual(ids, tt.want) {
			t.Errorf("S6 %s: %v, %v", tt.own, any, ids)
		}
	}
	if s, _ := Parse(`{"models":{"allow":[]}}`); s.AllowsModel("small") {
		t.Error("S5.2 an empty list allows a model")
	}
}

func TestParseRefuses(t *testing.T) {
	for config, want := range map[string]string{
		`{"tools":{"sessions":{"visibility":"everyone"}}}`:                            `tools.sessions.visibility has the unknown value "everyone"`,
		`{"tools":{"sessions":{"visibility":7}}}`:                                     `tools.sessions.visibility has the unknown value "7"`,
		`{"session":{"agentToAgent":{"maxPingPongTurns":"3"}}}`:                       `session.agentToAgent.maxPingPongTurns has the unknown value`,
		`{"session":{"agentToAgent":3}}`:                                              `session.agentToAgent has the unknown value "3"`,
		`{"session":{"scope":"world"}}`:                                               `session.scope has the unknown value "world"`,
		`{"agents":{"defaults":{"sandbox":{"sessionToolsVisibility":"everything"}}}}`: `sessionToolsVisibility has the unknown value "everything"`,
	} {
		_, err := Parse(config)
		if err == nil || !errors.Is(err, abi.Internal) || !strings.Contains(err.Error(), want) {
			t.Errorf("S7.1 Parse(%s): %v; want %s", config, err, want)
		}
	}
}
