package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-wasm/parley/abi/sessionkey"
)

func TestLoadFull(t *testing.T) {
	t.Setenv("PARLEY_CONFIG_TEST_TOKEN", " secret-of-the-operator\n")
	c, err := Load("testdata/full.json5")
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{
		Session: Session{MainKey: "home", Scope: ScopePerSender, MaxPingPongTurns: 5, AnnounceLocale: LocalePortuguese},
		Tools: Tools{
			Visibility:   VisibilityAll,
			AgentToAgent: AgentToAgent{Enabled: true, Allow: []string{"main", "ops*", "*"}},
			Subagents:    ToolPolicy{Allow: []string{"sessions_list"}, Deny: []string{"exec"}},
		},
		Agents: Agents{
			Model: "small", SandboxVisibility: SandboxAll, AllowAgents: []string{"main"},
			Subagents: Subagents{Model: "tiny", MaxConcurrent: 2, MaxChildrenPerAgent: 3},
			List: []Agent{
				{ID: "main", Name: "Main", Model: "large", SubagentModel: "medium", AllowAgents: []string{"ops", "*"}},
				{ID: "ops", Default: true},
				{ID: "quiet", AllowAgents: []string{}},
			},
		},
		Models: Models{Allow: []string{"tiny", "small", "medium", "large"}},
		Gateway: Gateway{Listen: "127.0.0.1:0", Tokens: []Token{
			{Secret: "secret-of-the-operator", Operator: true},
			{Secret: "for-ops", Caller: Caller{SessionKey: "agent:ops:home", AgentID: "ops", Sandboxed: true}},
			{Secret: "for-a-group", Caller: Caller{SessionKey: "agent:main:discord:group:7", AgentID: "main",
				Channel: "discord", To: "7", AccountID: "bot", ThreadID: "9"}},
			{Secret: "for-cron", Caller: Caller{SessionKey: "agent:main:cron:daily", AgentID: "main"}},
		}},
		Store:   Store{Path: filepath.Join("testdata", "data", "parley.db")},
		Plugins: Plugins{MemoryMiB: 64, StepTimeoutMs: 2500},
	}
	if d := cmp.Diff(want, c); d != "" {
		t.Error(d)
	}
	for name, want := range map[string]string{
		"session": `{"mainKey":"home","scope":"per-sender"}`,
		"tools":   `{"sessions":{"visibility":"all"},"agentToAgent":{"enabled":true,"allow":["main","ops*","*"]}}`,
		"agents": `{"defaults":{"sandbox":{"sessionToolsVisibility":"all"}},"list":[` +
			`{"id":"main","name":"Main","subagents":{"allowAgents":["ops","*"]}},` +
			`{"id":"ops","default":true,"subagents":{"allowAgents":["main"]}},` +
			`{"id":"quiet","subagents":{"allowAgents":[]}}]}`,
		"gateway": "", "store": "", "plugins": "", "models": "",
	} {
		if got := string(c.Member(name)); got != want {
			t.Errorf("Member(%q) = %s, want %s", name, got, want)
		}
	}
}

func TestDefaults(t *testing.T) {
	for _, text := range []string{"{}", "{session: {}, tools: {sessions: {}, agentToAgent: {}}, agents: {defaults: {}, list: []}, gateway: {tokens: []}, store: {}, plugins: {limits: {}}}"} {
		c, err := Parse("x", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(Default(), c, cmp.Comparer(func(a, b []Agent) bool { return len(a) == len(b) })); d != "" {
			t.Errorf("%s: %s", text, d)
		}
	}
	c := Default()
	if got, want := c.Keys(), (sessionkey.Settings{MainKey: "main", DefaultAgent: "main"}); got != want {
		t.Errorf("Keys() = %+v, want %+v", got, want)
	}
	for name, want := range map[string]string{
		"session": `{"mainKey":"main","scope":"per-sender"}`,
		"tools":   `{"sessions":{"visibility":"tree"},"agentToAgent":{"enabled":false,"allow":[]}}`,
		"agents":  `{"defaults":{"sandbox":{"sessionToolsVisibility":"spawned"}},"list":[]}`,
	} {
		if got := string(c.Member(name)); got != want {
			t.Errorf("Member(%q) = %s, want %s", name, got, want)
		}
	}
}

func TestKeys(t *testing.T) {
	for _, c := range []struct{ text, agent, main string }{
		{`{}`, "main", "agent:main:main"},
		{`{session: {mainKey: "work"}}`, "main", "agent:main:work"},
		{`{session: {scope: "global"}}`, "main", "global"},
		{`{agents: {list: [{id: "B"}, {id: "a"}]}}`, "b", "agent:b:main"},
		{`{agents: {list: [{id: "b"}, {id: "a", default: true}]}}`, "a", "agent:a:main"},
	} {
		cfg, err := Parse("x", []byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		k := cfg.Keys()
		if k.Agent() != c.agent || k.MainOf(k.Agent()) != c.main {
			t.Errorf("%s: agent %s, main %s", c.text, k.Agent(), k.MainOf(k.Agent()))
		}
	}
}

// A caller in the one session of scope "global" still is of an agent.
func TestTokenGlobal(t *testing.T) {
	c, err := Parse("x", []byte(`{session: {scope: "global"}, gateway: {tokens: [
		{token: "a", caller: {sessionKey: "agent:ops:main"}}, {token: "b", caller: {sessionKey: "main"}}, {token: "c", caller: {sessionKey: "main", agentId: "ops"}}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	for i, agent := range []string{"ops", "main", "ops"} {
		if got := c.Gateway.Tokens[i].Caller; got.SessionKey != "global" || got.AgentID != agent {
			t.Errorf("token %d: %+v, want global of %s", i, got, agent)
		}
	}
}

func TestSecretIsNotPrinted(t *testing.T) {
	c := Default()
	c.Gateway.Tokens = []Token{{Secret: "hush", Operator: true}}
	for _, f := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		if s := fmt.Sprintf(f, c.Gateway); strings.Contains(s, "hush") {
			t.Errorf("%s prints %s", f, s)
		}
	}
	if c.Gateway.Tokens[0].Secret.Reveal() != "hush" {
		t.Error("Reveal does not")
	}
}

func TestLoadErrors(t *testing.T) {
	if _, err := Load("testdata/none.json5"); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "testdata/none.json5") {
		t.Errorf("a missing file: %v", err)
	}
	big := filepath.Join(t.TempDir(), "big.json5")
	if err := os.WriteFile(big, []byte(strings.Repeat(" ", 3<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(big); err == nil || !strings.Contains(err.Error(), "at most 1048576 are read") {
		t.Errorf("a huge file: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	full, err := os.ReadFile("testdata/full.json5")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(full)
	for _, c := range problems {
		f.Add([]byte(c.text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Parse("f", text)
		if (c == nil) == (err == nil) {
			t.Fatalf("config %v, error %v", c, err)
		}
		if err != nil {
			if err.Error() == "" {
				t.Fatal("an empty error")
			}
			return
		}
		for _, tok := range c.Gateway.Tokens {
			if (tok.Secret == "") != (tok.Unset != "") || tok.Operator == (tok.Caller.SessionKey != "") {
				t.Fatalf("a useless token %+v", tok)
			}
		}
	})
}
