package gateway

import (
	"errors"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host/config"
)

func session(key, agent string) config.Caller { return config.Caller{SessionKey: key, AgentID: agent} }

func TestIdentify(t *testing.T) {
	tokens, made, err := NewTokens([]config.Token{
		{Secret: "op", Operator: true},
		{Secret: "ops", Caller: config.Caller{SessionKey: "agent:ops:main", AgentID: "ops", Sandboxed: true, Channel: "slack", To: "t", AccountID: "a", ThreadID: "9"}},
		{Secret: "child", Caller: session("agent:ops:subagent:1", "ops")},
	}, " env-op ")
	if err != nil || made != "" {
		t.Fatalf("made %q, %v", made, err)
	}
	operator := abi.Caller{Operator: true}
	for _, c := range []struct {
		name    string
		headers []string
		want    abi.Caller
		err     error
	}{
		{"operator", []string{"Bearer op"}, operator, nil},
		{"scheme in any case", []string{"bEARER  op "}, operator, nil},
		{"operator of the environment", []string{"Bearer env-op"}, operator, nil},
		{"session", []string{"Bearer ops"}, abi.Caller{SessionKey: "agent:ops:main", AgentID: "ops", Sandboxed: true, Channel: "slack", To: "t", AccountID: "a", ThreadID: "9"}, nil},
		{"child", []string{"Bearer child"}, abi.Caller{SessionKey: "agent:ops:subagent:1", AgentID: "ops", Depth: 1}, nil},
		{"none", nil, abi.Caller{}, ErrMissing},
		{"two", []string{"Bearer op", "Bearer ops"}, abi.Caller{}, ErrMissing},
		{"other scheme", []string{"Basic op"}, abi.Caller{}, ErrMissing},
		{"no scheme", []string{"op"}, abi.Caller{}, ErrMissing},
		{"empty", []string{"Bearer "}, abi.Caller{}, ErrMissing},
		{"wrong", []string{"Bearer o"}, abi.Caller{}, ErrWrong},
		{"wrong case", []string{"Bearer OP"}, abi.Caller{}, ErrWrong},
		{"longer", []string{"Bearer op op"}, abi.Caller{}, ErrWrong},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest("GET", "/", nil)
			for _, h := range c.headers {
				r.Header.Add("Authorization", h)
			}
			i, err := tokens.Identify(r)
			if !errors.Is(err, c.err) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			if err == nil && i.Caller != c.want {
				t.Errorf("got %+v, want %+v", i.Caller, c.want)
			}
		})
	}
	ids := map[string]bool{}
	for _, e := range tokens.entries {
		ids[e.identity.ID] = true
	}
	if len(ids) != 4 {
		t.Errorf("identity IDs are not unique: %v", ids)
	}
}

// runs maps the tokens of runs to their callers.
type runs map[string]abi.Caller

func (r runs) Identify(token string) (abi.Caller, bool) {
	c, ok := r[token]
	return c, ok
}

func TestIdentifyRuns(t *testing.T) {
	tokens, _, err := NewTokens([]config.Token{{Secret: "op", Operator: true}}, "")
	if err != nil {
		t.Fatal(err)
	}
	run := abi.Caller{SessionKey: "agent:ops:main", AgentID: "ops", RunID: "r_1", Hops: 2}
	active := runs{
		"first": run, "second": run, "op": {SessionKey: "agent:x:main", AgentID: "x", RunID: "r_2"},
		"operator": {Operator: true, RunID: "r_3"}, "no session": {RunID: "r_4"},
	}
	identify := func(token string) (*Identity, error) {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		return tokens.Identify(r)
	}
	if _, err := identify("first"); !errors.Is(err, ErrWrong) {
		t.Errorf("before AcceptRuns: %v", err)
	}
	tokens.AcceptRuns(active)
	first, err := identify("first")
	if err != nil || first.Caller != run {
		t.Fatalf("%+v, %v", first, err)
	}
	again, _ := identify("first")
	second, err := identify("second")
	if err != nil || first.ID == second.ID || first.ID != again.ID || strings.Contains(first.ID, "first") {
		t.Errorf("two attempts have IDs %q and %q, the first again %q, %v", first.ID, second.ID, again.ID, err)
	}
	if i, err := identify("op"); err != nil || !i.Caller.Operator {
		t.Errorf("a configured token does not take precedence: %+v, %v", i, err)
	}
	delete(active, "first")
	for _, token := range []string{"first", "operator", "no session", "other"} {
		if i, err := identify(token); !errors.Is(err, ErrWrong) {
			t.Errorf("%s: %+v, %v", token, i, err)
		}
	}
	keys := sessionkey.Settings{}
	if c, err := second.As("main", keys); err != nil || c != run {
		t.Errorf("as itself: %+v, %v", c, err)
	}
	if _, err := second.As("agent:main:main", keys); !errors.Is(err, abi.Forbidden) {
		t.Errorf("as another: %v", err)
	}
}

func TestNewTokens(t *testing.T) {
	t.Run("generated", func(t *testing.T) {
		a, first, err := NewTokens(nil, "")
		if err != nil || !regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`).MatchString(first) {
			t.Fatalf("made %q, %v", first, err)
		}
		if _, second, _ := NewTokens(nil, " "); second == first {
			t.Error("generated the same token twice")
		}
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Authorization", "Bearer "+first)
		if i, err := a.Identify(r); err != nil || !i.Caller.Operator {
			t.Errorf("%+v, %v", i, err)
		}
	})
	t.Run("not generated if a session has one", func(t *testing.T) {
		if _, made, err := NewTokens([]config.Token{{Secret: "a", Caller: session("agent:a:main", "a")}}, ""); made != "" || err != nil {
			t.Errorf("made %q, %v", made, err)
		}
	})
	t.Run("configured and in the environment", func(t *testing.T) {
		a, made, err := NewTokens([]config.Token{{Secret: "a", Operator: true}}, "a")
		if made != "" || err != nil || len(a.entries) != 1 {
			t.Errorf("made %q, %v, %d entries", made, err, len(a.entries))
		}
	})
	t.Run("same token for operator and session", func(t *testing.T) {
		_, _, err := NewTokens([]config.Token{{Secret: "hush", Caller: session("agent:a:main", "a")}}, "hush")
		if err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%v", err)
		}
	})
	t.Run("variable of a token not set", func(t *testing.T) {
		_, _, err := NewTokens([]config.Token{{Secret: "a", Operator: true}, {Unset: "OPS_TOKEN", Caller: session("agent:a:main", "a")}}, "")
		if err == nil || !strings.Contains(err.Error(), "gateway.tokens[1]") || !strings.Contains(err.Error(), "OPS_TOKEN") {
			t.Errorf("%v", err)
		}
	})
	t.Run("not valid in a header", func(t *testing.T) {
		if _, _, err := NewTokens(nil, "hush hush"); err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%v", err)
		}
	})
}

func TestAs(t *testing.T) {
	keys := sessionkey.Settings{MainKey: "home", DefaultAgent: "ops"}
	global := sessionkey.Settings{GlobalScope: true, DefaultAgent: "ops"}
	operator := OperatorIdentity()
	operator.Caller.Channel = "slack"
	own := &Identity{Caller: abi.Caller{SessionKey: "agent:bob:home", AgentID: "bob", Sandboxed: true}}
	shared := &Identity{Caller: abi.Caller{SessionKey: "global", AgentID: "bob"}}
	for _, c := range []struct {
		name     string
		identity *Identity
		keys     sessionkey.Settings
		as       string
		want     abi.Caller
		code     abi.Code
	}{
		{"operator itself", operator, keys, " ", operator.Caller, ""},
		{"main", operator, keys, "main", abi.Caller{SessionKey: "agent:ops:home", AgentID: "ops", Channel: "slack"}, ""},
		{"canonical", operator, keys, " agent:Bob:main ", abi.Caller{SessionKey: "agent:bob:home", AgentID: "bob", Channel: "slack"}, ""},
		{"bare", operator, keys, "cron:daily", abi.Caller{SessionKey: "agent:ops:cron:daily", AgentID: "ops", Channel: "slack"}, ""},
		{"child", operator, keys, "agent:ops:subagent:1", abi.Caller{SessionKey: "agent:ops:subagent:1", AgentID: "ops", Channel: "slack", Depth: 1}, ""},
		{"global", operator, global, "main", abi.Caller{SessionKey: "global", AgentID: "ops", Channel: "slack"}, ""},
		{"global of an agent", operator, global, "agent:BOB:main", abi.Caller{SessionKey: "global", AgentID: "bob", Channel: "slack"}, ""},
		{"current without a session", operator, keys, "current", abi.Caller{}, abi.InvalidArgs},
		{"reserved", operator, keys, "unknown", abi.Caller{}, abi.InvalidArgs},
		{"bad agent", operator, keys, "agent:../x:main", abi.Caller{}, abi.InvalidArgs},
		{"control characters", operator, keys, "a\nb", abi.Caller{}, abi.InvalidArgs},
		{"too long", operator, keys, strings.Repeat("x", 10_000), abi.Caller{}, abi.InvalidArgs},
		{"session itself", own, keys, "", own.Caller, ""},
		{"session by key", own, keys, "agent:bob:main", own.Caller, ""},
		{"session by main", own, keys, "main", own.Caller, ""},
		{"another session", own, keys, "agent:ops:main", abi.Caller{}, abi.Forbidden},
		{"another session of its agent", own, keys, "cron:daily", abi.Caller{}, abi.Forbidden},
		{"session by global main", shared, global, "main", shared.Caller, ""},
		{"global of another agent", shared, global, "agent:ops:main", abi.Caller{}, abi.Forbidden},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.identity.As(c.as, c.keys)
			if c.code != "" {
				if !errors.Is(err, c.code) {
					t.Fatalf("error %v, want %s", err, c.code)
				}
				return
			}
			if err != nil || got != c.want {
				t.Errorf("got %+v, %v; want %+v", got, err, c.want)
			}
		})
	}
}
