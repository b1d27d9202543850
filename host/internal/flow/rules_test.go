package flow_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/step"
	"github.com/parley-wasm/parley/host/store"
)

// The host holds steps to the settings, whatever the plugin makes of them: each of
// these requests is what a plugin of ill will could ask.
func TestRules(t *testing.T) {
	denied := abi.NewError(abi.Forbidden, "closed")
	on := abi.Caller{SessionKey: caller, AgentID: "main", Channel: "telegram", To: "7"}
	const create = `{"op":"create","agentId":"main"`
	for name, tt := range map[string]struct {
		as      abi.Caller
		rules   step.Rules
		family  string
		request string
		code    abi.Code
	}{
		"a child of a child":    {as: abi.Caller{SessionKey: caller, AgentID: "main", Depth: 1}, family: "store", request: create + `}`, code: abi.Forbidden},
		"an agent that is none": {rules: step.Rules{Agents: []string{"ops"}}, family: "store", request: `{"op":"create","agentId":"dev"}`, code: abi.NotFound},
		"a configured agent":    {rules: step.Rules{Agents: []string{"ops"}}, family: "store", request: `{"op":"create","agentId":"ops"}`},
		"the own agent":         {rules: step.Rules{Agents: []string{"ops"}}, family: "store", request: create + `}`},
		"a long label":          {family: "store", request: create + `,"label":"` + strings.Repeat("é", 65) + `"}`, code: abi.InvalidArgs},
		"a label":               {family: "store", request: create + `,"label":"` + strings.Repeat("é", 64) + `"}`},
		"a long model":          {family: "store", request: create + `,"model":"` + strings.Repeat("m", 201) + `"}`, code: abi.InvalidArgs},
		"the end of a chain":    {as: abi.Caller{SessionKey: caller, AgentID: "main", Hops: 8}, family: "agent", request: begin, code: abi.Forbidden},
		"the last of a chain":   {as: abi.Caller{SessionKey: caller, AgentID: "main", Hops: 7}, family: "agent", request: begin},
		"a channel that is closed": {as: on, rules: step.Rules{Deliver: func(*abi.Session, abi.Target) error { return denied }}, family: "deliver",
			request: `{"op":"send","sessionKey":"` + caller + `","text":"hi","atCall":true}`, code: abi.Forbidden},
		"one that is open": {as: on, rules: step.Rules{Deliver: func(_ *abi.Session, t abi.Target) error {
			if t.Channel != "telegram" {
				return denied
			}
			return nil
		}}, family: "deliver", request: `{"op":"send","sessionKey":"` + caller + `","text":"hi","atCall":true}`},
	} {
		t.Run(name, func(t *testing.T) {
			var got abi.Code
			w := newWorld(t, &plugin{call: func(ask func(string, string) gjson.Result, _ gjson.Result) string {
				got = abi.Code(ask(tt.family, tt.request).Get("error.code").Str)
				return `{"error":{"code":"internal","message":"enough"}}`
			}})
			if w.rules = tt.rules; tt.as.SessionKey != "" {
				w.as = tt.as
			}
			if r := <-w.call(t.Context(), "1", `{}`); r.err == nil || got != tt.code {
				t.Errorf("refused with %q, want %q (%v)", got, tt.code, r.err)
			}
		})
	}
}

// spawning is a plugin whose step asks for so many children.
func spawning(children int, runs bool, last *gjson.Result) *plugin {
	return &plugin{call: func(ask func(string, string) gjson.Result, _ gjson.Result) string {
		for range children {
			*last = ask("store", `{"op":"create","agentId":"main"}`)
			if key := last.Get("ok.sessionKey").Str; key != "" && runs {
				ask("agent", fmt.Sprintf(`{"op":"run","sessionKey":%q,"message":"go","group":"subagent"}`, key))
			}
		}
		return `{"result":{}}`
	}}
}

// The settings' bound of children counts, whether or not a plugin names one, and
// counts those of the same step.
func TestChildrenOfOneStep(t *testing.T) {
	var last gjson.Result
	w := newWorld(t, spawning(3, true, &last))
	w.rules.MaxChildren = 2
	if r := <-w.call(t.Context(), "1", `{}`); r.err != nil || last.Get("error.code").Str != "forbidden" || len(w.allRuns()) != 2 {
		t.Errorf("%v, the last child got %s, %d runs", r.err, last.Raw, len(w.allRuns()))
	}
}

// A child that nothing is asked of would stay for ever.
func TestChildWithoutRun(t *testing.T) {
	var last gjson.Result
	w := newWorld(t, spawning(1, false, &last))
	if r := <-w.call(t.Context(), "1", `{}`); !errors.Is(r.err, abi.Internal) || !strings.Contains(r.err.Error(), "without a run") {
		t.Errorf("the step ended with %v", r.err)
	}
}

// A flow archives and deletes what it has created, and nothing else that it has
// started runs in.
func TestOnlyOwnChildrenGo(t *testing.T) {
	var last gjson.Result
	w := newWorld(t, spawning(1, true, &last))
	if r := <-w.call(t.Context(), "1", `{}`); r.err != nil {
		t.Fatal(r.err)
	}
	child := last.Get("ok.sessionKey").Str
	w.end(w.allRuns()[0].ID, "done")
	var refusal gjson.Result
	w.open(&plugin{
		call: func(ask func(string, string) gjson.Result, _ gjson.Result) string {
			r := ask("agent", fmt.Sprintf(`{"op":"run","sessionKey":%q,"message":"hello","group":"nested"}`, child))
			return waitFor(r, 0)
		},
		resume: func(ask func(string, string) gjson.Result, _ gjson.Result) string {
			refusal = ask("store", fmt.Sprintf(`{"op":"delete","sessionKey":%q}`, child))
			return `{"result":{}}`
		},
	})
	done := w.call(t.Context(), "2", `{}`)
	w.end(w.allRuns()[0].ID, "hi")
	if r := <-done; r.err != nil || refusal.Get("error.code").Str != "forbidden" {
		t.Errorf("%v, it was answered %s", r.err, refusal.Raw)
	}
	w.update(func(tx store.Tx) error {
		if s, err := tx.Session(child); err != nil || s == nil {
			t.Errorf("the child is %v, %v", s, err)
		}
		return nil
	})
}

// A chain ends in every step of a flow, not only in the first.
func TestChainEndsInLaterSteps(t *testing.T) {
	var got gjson.Result
	w := newWorld(t, &plugin{
		call: func(func(string, string) gjson.Result, gjson.Result) string {
			return `{"wait":{"until":1,"state":{},"stateVersion":1}}`
		},
		resume: func(ask func(string, string) gjson.Result, _ gjson.Result) string {
			got = ask("agent", begin)
			return `{"result":{}}`
		},
	})
	w.as.Hops = 8
	if r := <-w.call(t.Context(), "1", `{}`); r.err != nil || got.Get("error.code").Str != "forbidden" || len(w.allRuns()) != 0 {
		t.Errorf("%v, it was answered %s, %d runs", r.err, got.Raw, len(w.allRuns()))
	}
}
