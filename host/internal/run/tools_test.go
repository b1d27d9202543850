package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/policy"
	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/store"
)

// withTools gives the fixture's agents one tool, which answers with its caller.
func (r *fixture) withTools() *fixture {
	r.o.Tools = func(abi.Caller) []abi.Tool { return []abi.Tool{{Name: abi.ToolList}} }
	r.o.Call = func(_ context.Context, c abi.Caller, tool string, args []byte) (*runner.Answer, error) {
		return &runner.Answer{Result: fmt.Appendf(nil, "%s %s %s", tool, args, c.AppendJSON(nil))}, nil
	}
	r.o.URL = func() string { return "http://127.0.0.1:1" }
	return r
}

func TestTools(t *testing.T) {
	var token string
	var r *fixture
	r = newFixture(t, runnerFunc(func(ctx context.Context, turn *runner.Turn) (*runner.Outcome, error) {
		if list := turn.Tools.List(); len(list) != 1 || list[0].Name != abi.ToolList {
			t.Errorf("tools: %+v", list)
		}
		url, secret := turn.Tools.Access()
		_, again := turn.Tools.Access()
		if url != "http://127.0.0.1:1" || len(secret) != 43 || again != secret {
			t.Errorf("Access: %q %q %q", url, secret, again)
		}
		token = secret
		c, ok := r.Identify(secret)
		if !ok || c.RunID != "r1" {
			t.Errorf("Identify: %+v %t", c, ok)
		}
		for i, want := range []string{"r1/t/d/1", "r1/t/d/2", "r1/t/e/1"} {
			if call := r.ToolCall(&c, "t", []string{"d", "d", "e"}[i]); call == nil || call.ID != want {
				t.Errorf("ToolCall: %+v, want %q", call, want)
			}
		}
		if call := r.ToolCall(&abi.Caller{RunID: "r1", Attempt: 2}, "t", "d"); call != nil {
			t.Errorf("another attempt got the call %+v", call)
		}
		an, err := turn.Tools.Call(ctx, abi.ToolList, json.RawMessage(`{}`))
		if err != nil {
			return nil, err
		}
		return &runner.Outcome{Text: string(an.Result)}, nil
	})).withTools().start()
	r.session("a", func(s *abi.Session) {
		s.DeliveryContext = abi.Target{Channel: "telegram", To: "5", AccountID: "acc", ThreadID: "9"}
		s.SpawnedBy, s.Sandboxed = "agent:main:main", true
	})
	r.queue("r1", "a", func(q *store.Run) { q.Hops = 3 })
	r.ends("r1", abi.RunDone, `sessions_list {} {"sessionKey":"agent:main:a","agentId":"main","channel":"telegram","to":"5","accountId":"acc","threadId":"9","sandboxed":true,"depth":1,"hops":3,"runId":"r1"}`)
	if r.ToolCall(&abi.Caller{RunID: "r1", Attempt: 1}, "t", "d") != nil {
		t.Error("an ended run gets tool calls")
	}
	for _, text := range []string{token, "", "x"} {
		if c, ok := r.Identify(text); ok {
			t.Errorf("%q still authenticates %+v", text, c)
		}
	}
}

// A token is valid for one attempt. The next attempt gets another token.
func TestTokenPerAttempt(t *testing.T) {
	tokens := make(chan string, 2)
	blocking := runnerFunc(func(ctx context.Context, turn *runner.Turn) (*runner.Outcome, error) {
		_, secret := turn.Tools.Access()
		tokens <- secret
		<-ctx.Done()
		return nil, ctx.Err()
	})
	first := newFixture(t, blocking).withTools()
	first.makeFaulty()
	first.session("a")
	first.queue("r1", "a")
	first.start()
	old := <-tokens
	first.kill()
	r := first.next(blocking).start()
	secret := <-tokens
	if _, ok := r.Identify(old); ok || secret == old {
		t.Error("the token of the dead attempt is valid")
	}
	if _, ok := r.Identify(secret); !ok {
		t.Error("the token of the attempt is invalid")
	}
	r.abort("r1", "", abi.RunKilled, "aborted by the operator")
	if _, ok := r.Identify(secret); ok {
		t.Error("the token is valid after its attempt")
	}
}

func TestNoTools(t *testing.T) {
	var given atomic.Int32
	r := newFixture(t, runnerFunc(func(_ context.Context, turn *runner.Turn) (*runner.Outcome, error) {
		if turn.Tools != nil {
			given.Add(1)
		}
		return &runner.Outcome{}, nil
	})).withTools()
	some := r.o.Tools
	r.o.Tools = func(c abi.Caller) []abi.Tool {
		if c.RunID == "r2" {
			return nil
		}
		return some(c)
	}
	r.start()
	r.session("a")
	r.queue("r1", "a", func(q *store.Run) { q.NoTools = true })
	r.queue("r2", "a")
	r.wait("r1")
	r.wait("r2")
	if given.Load() != 0 {
		t.Error("an agent without tools got some")
	}
	r.o.URL = nil
	r2 := r.next(runnerFunc(func(_ context.Context, turn *runner.Turn) (*runner.Outcome, error) {
		url, secret := turn.Tools.Access()
		return &runner.Outcome{Text: "[" + url + secret + "]"}, nil
	}))
	r.close(context.Background())
	r2.start()
	r2.queue("r3", "a")
	r2.ends("r3", abi.RunDone, "[]")
}

func TestCaller(t *testing.T) {
	for _, c := range []struct {
		defaults, own, session string
		sandboxed              bool
	}{
		{policy.SandboxOff, "", "main", false},
		{policy.SandboxNonMain, "", "main", false},
		{policy.SandboxNonMain, "", "group", true},
		{policy.SandboxAlways, "", "main", true},
		{policy.SandboxAlways, policy.SandboxOff, "group", false},
		{policy.SandboxOff, policy.SandboxAlways, "main", true},
	} {
		r := newFixture(t, runnerFunc(func(ctx context.Context, turn *runner.Turn) (*runner.Outcome, error) {
			_, err := turn.Tools.Call(ctx, abi.ToolList, json.RawMessage(`{}`))
			return &runner.Outcome{Text: "ok"}, err
		})).withTools()
		var got abi.Caller
		r.o.Call = func(_ context.Context, c abi.Caller, _ string, _ []byte) (*runner.Answer, error) {
			got = c
			return &runner.Answer{}, nil
		}
		r.config.Agents.Sandbox = c.defaults
		r.config.Agents.List = []config.Agent{{ID: "main", Sandbox: c.own}}
		r.session("main")
		r.session("group", func(s *abi.Session) { s.LastChannel, s.LastTo = "slack", "C1" })
		r.queue("r1", c.session)
		r.start()
		r.ends("r1", abi.RunDone, "ok")
		if got.Sandboxed != c.sandboxed || got.RunID != "r1" || got.SessionKey != key(c.session) || got.Operator {
			t.Errorf("%+v: %+v", c, got)
		}
		if c.session == "group" && (got.Channel != "slack" || got.To != "C1") {
			t.Errorf("target: %+v", got)
		}
	}
}

// The caller of a run's tool calls is a child, or sandboxed, if the run's session is.
// Options.Tools receives both, and the turn states whether the run is sandboxed.
func TestCallerOfChild(t *testing.T) {
	for _, c := range []struct {
		session   string
		with      func(*abi.Session)
		depth     int
		sandboxed bool
	}{
		{"plain", func(*abi.Session) {}, 0, false},
		{"boxed", func(s *abi.Session) { s.Sandboxed = true }, 0, true},
		{"subagent:1", func(*abi.Session) {}, 1, false},
		{"named", func(s *abi.Session) { s.SpawnedBy = key("main") }, 1, false},
		{"subagent:2", func(s *abi.Session) { s.SpawnedBy, s.Sandboxed = key("main"), true }, 1, true},
	} {
		r := newFixture(t, runnerFunc(func(_ context.Context, turn *runner.Turn) (*runner.Outcome, error) {
			return &runner.Outcome{Text: fmt.Sprint(turn.Sandboxed, turn.Tools.List()[0].Name)}, nil
		})).withTools()
		r.o.Tools = func(c abi.Caller) []abi.Tool {
			return []abi.Tool{{Name: fmt.Sprint(" ", c.SessionKey, c.RunID, c.Attempt, c.Depth, c.Sandboxed)}}
		}
		r.session(c.session, c.with)
		r.queue("r1", c.session)
		r.start()
		r.ends("r1", abi.RunDone, fmt.Sprint(c.sandboxed, " ", key(c.session), "r1", 1, c.depth, c.sandboxed))
	}
}

func TestModel(t *testing.T) {
	r := newFixture(t, runnerFunc(func(_ context.Context, turn *runner.Turn) (*runner.Outcome, error) {
		return &runner.Outcome{Text: turn.Model + "/" + turn.Thinking}, nil
	}))
	r.config.Agents.Model = "of all"
	r.config.Agents.List = []config.Agent{{ID: "main", Default: true}, {ID: "own", Model: "of the agent"}}
	r.start()
	r.session("plain")
	r.session("set", func(s *abi.Session) { s.ModelOverride, s.ThinkingLevel = "of the session", "low" })
	own := func(q *store.Run) { q.AgentID = "own" }
	asked := func(q *store.Run) { q.AgentID, q.Model, q.Thinking = "own", "asked for", "high" }
	for id, c := range map[string]struct {
		session string
		with    func(*store.Run)
		want    string
	}{
		"1": {"plain", func(*store.Run) {}, "of all/"},
		"2": {"plain", own, "of the agent/"},
		"3": {"set", own, "of the session/low"},
		"4": {"set", asked, "asked for/high"},
	} {
		r.queue(id, c.session, c.with)
		r.ends(id, abi.RunDone, c.want)
	}
	if strings.Contains(r.transcript("plain"), "model") {
		t.Error("the requested model is recorded as the used model")
	}
}
