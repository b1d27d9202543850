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

// The host enforces the settings, whatever the plugin does: each of these requests
// could come from a malicious plugin.
func TestRules(t *testing.T) {
	denied := abi.NewError(abi.Forbidden, "closed")
	on := abi.Caller{SessionKey: caller, AgentID: "main", Channel: "telegram", To: "7"}
	const create = `{"op":"create","agentId":"main"`
	for name, tt := range map[string]struct {
		as        abi.Caller
		rules     step.Rules
		namespace string
		request   string
		code      abi.Code
	}{
		"a child of a child":  {as: abi.Caller{SessionKey: caller, AgentID: "main", Depth: 1}, namespace: "store", request: create + `}`, code: abi.Forbidden},
		"an unknown agent":    {rules: step.Rules{Agents: []string{"ops"}}, namespace: "store", request: `{"op":"create","agentId":"dev"}`, code: abi.NotFound},
		"a configured agent":  {rules: step.Rules{Agents: []string{"ops"}}, namespace: "store", request: `{"op":"create","agentId":"ops"}`},
		"the caller's agent":  {rules: step.Rules{Agents: []string{"ops"}}, namespace: "store", request: create + `}`},
		"a long label":        {namespace: "store", request: create + `,"label":"` + strings.Repeat("é", 65) + `"}`, code: abi.InvalidArgs},
		"a label":             {namespace: "store", request: create + `,"label":"` + strings.Repeat("é", 64) + `"}`},
		"a long model":        {namespace: "store", request: create + `,"model":"` + strings.Repeat("m", 201) + `"}`, code: abi.InvalidArgs},
		"the end of a chain":  {as: abi.Caller{SessionKey: caller, AgentID: "main", Hops: 8}, namespace: "agent", request: runRequest, code: abi.Forbidden},
		"the last of a chain": {as: abi.Caller{SessionKey: caller, AgentID: "main", Hops: 7}, namespace: "agent", request: runRequest},
		"a channel that is closed": {as: on, rules: step.Rules{Deliver: func(*abi.Session, abi.Target) error { return denied }}, namespace: "deliver",
			request: `{"op":"send","sessionKey":"` + caller + `","text":"hi","atCall":true}`, code: abi.Forbidden},
		"one that is open": {as: on, rules: step.Rules{Deliver: func(_ *abi.Session, t abi.Target) error {
			if t.Channel != "telegram" {
				return denied
			}
			return nil
		}}, namespace: "deliver", request: `{"op":"send","sessionKey":"` + caller + `","text":"hi","atCall":true}`},
	} {
		t.Run(name, func(t *testing.T) {
			var got abi.Code
			w := newFixture(t, &plugin{call: func(ask func(string, string) gjson.Result, _ gjson.Result) string {
				got = abi.Code(ask(tt.namespace, tt.request).Get("error.code").Str)
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

// spawning returns a plugin whose step creates the given number of children, with a run
// for each if runs is true. last receives the last reply to a creation.
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

// The configured maximum of children applies even if the plugin states no maximum, and
// counts the children that the same step creates.
func TestChildrenOfOneStep(t *testing.T) {
	var last gjson.Result
	w := newFixture(t, spawning(3, true, &last))
	w.rules.MaxChildren = 2
	if r := <-w.call(t.Context(), "1", `{}`); r.err != nil || last.Get("error.code").Str != "forbidden" || len(w.allRuns()) != 2 {
		t.Errorf("%v, the last child got %s, %d runs", r.err, last.Raw, len(w.allRuns()))
	}
}

// A step must queue a run for each child that it creates. A child without a run would
// never be removed.
func TestChildWithoutRun(t *testing.T) {
	var last gjson.Result
	w := newFixture(t, spawning(1, false, &last))
	if r := <-w.call(t.Context(), "1", `{}`); !errors.Is(r.err, abi.Internal) || !strings.Contains(r.err.Error(), "without a run") {
		t.Errorf("the step ended with %v", r.err)
	}
}

// A flow archives and deletes the children that it has created, but no other session
// in which it has started runs.
func TestRemoveOnlyOwnChildren(t *testing.T) {
	var last gjson.Result
	w := newFixture(t, spawning(1, true, &last))
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
		t.Errorf("%v, the reply was %s", r.err, refusal.Raw)
	}
	w.update(func(tx store.Tx) error {
		if s, err := tx.Session(child); err != nil || s == nil {
			t.Errorf("the child is %v, %v", s, err)
		}
		return nil
	})
}

// The limit of hops applies to every step of a flow, not only to the first.
func TestHopLimitInLaterSteps(t *testing.T) {
	var got gjson.Result
	w := newFixture(t, &plugin{
		call: func(func(string, string) gjson.Result, gjson.Result) string {
			return `{"wait":{"until":1,"state":{},"stateVersion":1}}`
		},
		resume: func(ask func(string, string) gjson.Result, _ gjson.Result) string {
			got = ask("agent", runRequest)
			return `{"result":{}}`
		},
	})
	w.as.Hops = 8
	if r := <-w.call(t.Context(), "1", `{}`); r.err != nil || got.Get("error.code").Str != "forbidden" || len(w.allRuns()) != 0 {
		t.Errorf("%v, the reply was %s, %d runs", r.err, got.Raw, len(w.allRuns()))
	}
}
