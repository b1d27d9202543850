package config

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonstrict"
	"github.com/parley-wasm/parley/abi/policy"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

func TestLoadFull(t *testing.T) {
	t.Setenv("PARLEY_CONFIG_TEST_TOKEN", " secret-of-the-operator\n")
	t.Setenv("PARLEY_CONFIG_TEST_UNSET", "")
	c, err := Load("testdata/full.json5")
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{
		Session: Session{MainKey: "home", Scope: ScopePerSender, MaxPingPongTurns: 5, AnnounceLocale: LocalePortuguese,
			Owners: []string{"telegram:123", "slack:U1:x"},
			SendPolicy: policy.Send{Default: policy.Deny, Rules: []policy.Rule{
				{Channel: "discord", ChatType: policy.ChatGroup, Action: policy.Deny},
				{ChatType: policy.ChatDirect, KeyPrefix: "agent:main:", Action: policy.Allow},
				{Action: policy.Allow},
			}},
		},
		Tools: Tools{
			Visibility:   VisibilityAll,
			AgentToAgent: AgentToAgent{Enabled: true, Allow: []string{"main", "ops*", "*"}},
			Subagents:    policy.Tools{Allow: []string{"sessions_list"}, Deny: []string{"exec"}},
		},
		Agents: Agents{
			Model: "small", SandboxVisibility: SandboxAll,
			Subagents: Subagents{AllowAgents: []string{"main"}, Model: "tiny", MaxConcurrent: 2, MaxChildrenPerAgent: 3},
			Sandbox:   policy.SandboxNonMain,
			Runner: &Runner{Kind: RunnerOpenAI, BaseURL: "https://models.example/v1", APIKey: "secret-of-the-operator", Model: "tiny",
				HistoryBytes: 1024},
			List: []Agent{
				{ID: "main", Name: "Main", Model: "large", SubagentModel: "medium", AllowAgents: []string{"ops", "*"}},
				{ID: "ops", Default: true, Sandbox: policy.SandboxAlways, Runner: &Runner{Kind: RunnerCommand,
					Argv: []string{"claude", "-p", " ", ""}, Dir: filepath.Join("testdata", "work"), MaxOutputBytes: 4096,
					Env:             map[string]Secret{"LANG": " C ", "KEY": "secret-of-the-operator"},
					EnvUnset:        []string{"PARLEY_CONFIG_TEST_UNSET"},
					HistoryMessages: DefaultHistoryMessages, HistoryBytes: DefaultHistoryBytes}},
				{ID: "quiet", AllowAgents: []string{}, Sandbox: policy.SandboxOff, Runner: &Runner{Kind: RunnerScript, Replies: []Reply{
					{Text: "one"}, {}, {Error: "no"},
					{Text: " {{result}} ", After: 1500 * time.Millisecond, Tool: "sessions_send",
						Args:  []byte(`{"sessionKey":"main","n":[1,-2.5,true,false,null,{"a":"\""}]}`),
						Usage: &abi.Usage{Input: tokens(900), Output: tokens(300)}},
				}}},
			},
		},
		Models: Models{Allow: []string{"tiny", "small", "medium", "large"}, Pricing: map[string]Price{
			"small": {InputPerMTok: 0.1}, "a.b": {InputPerMTok: 1, OutputPerMTok: 2},
		}},
		Gateway: Gateway{Listen: "127.0.0.1:0", Tokens: []Token{
			{Secret: "secret-of-the-operator", Operator: true},
			{Secret: "for-ops", Caller: Caller{SessionKey: "agent:ops:home", AgentID: "ops", Sandboxed: true}},
			{Secret: "for-a-group", Caller: Caller{SessionKey: "agent:main:discord:group:7", AgentID: "main",
				Channel: "discord", To: "7", AccountID: "bot", ThreadID: "9"}},
			{Secret: "for-cron", Caller: Caller{SessionKey: "agent:main:cron:daily", AgentID: "main"}},
		}},
		Delivery: Delivery{MaxAge: 90 * time.Minute, Channels: map[string]Channel{
			"webchat":  {Sink: SinkLog},
			"hook":     {Sink: SinkWebhook, URL: "https://example.org/in?x=1", TokenUnset: "PARLEY_CONFIG_TEST_UNSET"},
			"telegram": {Sink: SinkTelegram, Token: "secret-of-the-operator"},
			"slack":    {Sink: SinkSlack, Token: "xoxb", BaseURL: "http://127.0.0.1:1"},
			"discord":  {Sink: SinkDiscord, TokenUnset: "PARLEY_CONFIG_TEST_UNSET"},
		}},
		Runs:  Runs{MaxAttempts: 3, TimeoutSeconds: 60, MainSlots: 7},
		Store: Store{Path: filepath.Join("testdata", "data", "parley.db")},
		Plugins: Plugins{
			RequireSignature: true, Keys: []PluginKey{{"raw", publicKey}, {"pem", publicKey}},
			Allow:  []string{"store.list", "store.history", "agent.status", "agent.waits", "agent.run"},
			Verify: VerifyAll, RollbackSteps: 7, MaxPinned: 2, Watch: filepath.Join("testdata", "data", "parley.wasm"),
			Limits: PluginLimits{
				Fuel: 1000, MemoryMiB: 64, StepTimeoutMs: 2500, HostCalls: 1, InMiB: 2, OutMiB: 3, LogLines: 4, Runs: 5, Deliveries: 6,
			},
		},
	}
	if d := cmp.Diff(want, c); d != "" {
		t.Error(d)
	}
	for name, want := range map[string]string{
		"session": `{"mainKey":"home","scope":"per-sender","agentToAgent":{"maxPingPongTurns":5},"announce":{"locale":"pt"}}`,
		"tools":   `{"sessions":{"visibility":"all"},"agentToAgent":{"enabled":true,"allow":["main","ops*","*"]},"subagents":{"tools":{"allow":["sessions_list"],"deny":["exec"]}}}`,
		"agents": `{"defaults":{"sandbox":{"sessionToolsVisibility":"all"},"model":"tiny","subagents":{"model":"tiny","archiveAfterMinutes":0,"maxChildrenPerAgent":3}},"list":[` +
			`{"id":"main","name":"Main","model":"large","subagents":{"allowAgents":["ops","*"],"model":"medium"}},` +
			`{"id":"ops","default":true,"model":"small","subagents":{"allowAgents":["main"]}},` +
			`{"id":"quiet","model":"small","subagents":{"allowAgents":[]}}]}`,
		"models":  `{"allow":["tiny","small","medium","large"]}`,
		"gateway": "", "store": "", "plugins": "", "delivery": "", "runs": "",
	} {
		if got := string(c.Member(name)); got != want {
			t.Errorf("Member(%q) = %s, want %s", name, got, want)
		}
	}
}

func tokens(n int64) *int64 { return &n }

// publicKey is the example key of RFC 8037, A.2.
var publicKey = ed25519.PublicKey{
	0xd7, 0x5a, 0x98, 0x01, 0x82, 0xb1, 0x0a, 0xb7, 0xd5, 0x4b, 0xfe, 0xd3, 0xc9, 0x64, 0x07, 0x3a,
	0x0e, 0xe1, 0x72, 0xf3, 0xda, 0xa6, 0x23, 0x25, 0xaf, 0x02, 0x1a, 0x68, 0xf7, 0x07, 0x51, 0x1a,
}

// TestExamples parses the example of the package comment and testdata/example.json5.
func TestExamples(t *testing.T) {
	source, err := os.ReadFile("config.go")
	if err != nil {
		t.Fatal(err)
	}
	comment := string(source)
	begin, end := strings.Index(comment, "//\t{\n"), strings.Index(comment, "//\t}\n")
	if begin < 0 || end < begin {
		t.Fatal("the package comment has no example")
	}
	c, err := Parse("comment", []byte(strings.ReplaceAll(comment[begin:end]+"}", "//\t", "")))
	if err != nil {
		t.Fatal(err)
	}
	if c.Agents.Runner == nil || len(c.Delivery.Channels) != 3 {
		t.Errorf("the package comment's example parses to %+v", c)
	}

	for _, name := range []string{"OPENAI_API_KEY", "PARLEY_TOKEN", "TG"} {
		t.Setenv(name, "")
	}
	if c, err = Load("testdata/example.json5"); err != nil {
		t.Fatal(err)
	}
	if got, want := c.Agents.RunnerOf("main"), "OPENAI_API_KEY"; got.APIKey != "" || got.APIKeyUnset != want {
		t.Errorf("unset key: got key %q, unset variable %q", got.APIKey.Reveal(), got.APIKeyUnset)
	}
	if got := c.Agents.RunnerOf("test").Replies; len(got) != 3 || got[1].Text != "REPLY_SKIP" {
		t.Errorf("replies: %+v", got)
	}
	if got := c.Delivery.Channels["telegram"]; got.TokenUnset != "TG" || got.BaseURL != "http://127.0.0.1:9001" {
		t.Errorf("telegram: %+v", got)
	}
	if c.Plugins.Limits.Fuel != 50_000_000 || c.Delivery.MaxAge != 24*time.Hour {
		t.Errorf("fuel %d, maxAge %v", c.Plugins.Limits.Fuel, c.Delivery.MaxAge)
	}
}

func TestRunnerOf(t *testing.T) {
	c, err := Parse("x", []byte(`{agents: {list: [{id: "a", runner: {kind: "script", replies: ["own"]}}, {id: "b"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	if r := c.Agents.RunnerOf("a"); r == nil || r.Replies[0].Text != "own" {
		t.Errorf("runner of a: %+v", r)
	}
	if r := c.Agents.RunnerOf("b"); r != nil {
		t.Errorf("runner of b: %+v, want none", r)
	}
	c.Agents.Runner = &Runner{Kind: RunnerCommand}
	for id, want := range map[string]string{"a": RunnerScript, "b": RunnerCommand, "c": RunnerCommand} {
		if got := c.Agents.RunnerOf(id).Kind; got != want {
			t.Errorf("kind of the runner of %s is %s, want %s", id, got, want)
		}
	}
}

func TestDefaults(t *testing.T) {
	for _, text := range []string{"{}", "{session: {}, tools: {sessions: {}, agentToAgent: {}}, agents: {defaults: {}, list: []}, gateway: {tokens: []}, store: {}, plugins: {limits: {}}, delivery: {}, runs: {groups: {}}}"} {
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
		"session": `{"mainKey":"main","scope":"per-sender","agentToAgent":{"maxPingPongTurns":5},"announce":{"locale":"en"}}`,
		"tools":   `{"sessions":{"visibility":"tree"},"agentToAgent":{"enabled":false,"allow":[]},"subagents":{"tools":{"allow":[],"deny":[]}}}`,
		"agents":  `{"defaults":{"sandbox":{"sessionToolsVisibility":"spawned"},"subagents":{"archiveAfterMinutes":60,"maxChildrenPerAgent":5}},"list":[]}`,
		"models":  `{}`,
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
			t.Errorf("%s: default agent %s, main session %s", c.text, k.Agent(), k.MainOf(k.Agent()))
		}
	}
}

// TestTokenGlobalScope checks that a token's caller has its own agent although the session
// key is "global".
func TestTokenGlobalScope(t *testing.T) {
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
	c.Agents.Runner = &Runner{APIKey: "hush", Env: map[string]Secret{"KEY": "hush"}}
	c.Delivery.Channels = map[string]Channel{"a": {Token: "hush", Secret: "hush"}}
	for _, f := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		if s := fmt.Sprintf(f+f+f, c.Gateway, *c.Agents.Runner, c.Delivery); strings.Contains(s, "hush") {
			t.Errorf("%s prints %s", f, s)
		}
	}
	if c.Gateway.Tokens[0].Secret.Reveal() != "hush" {
		t.Error("Reveal does not return the secret")
	}
}

func TestLoadErrors(t *testing.T) {
	if _, err := Load("testdata/none.json5"); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "testdata/none.json5") {
		t.Errorf("missing file: %v", err)
	}
	big := filepath.Join(t.TempDir(), "big.json5")
	if err := os.WriteFile(big, []byte(strings.Repeat(" ", 3<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(big); err == nil || !strings.Contains(err.Error(), "the limit is 1048576") {
		t.Errorf("file above the limit: %v", err)
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
				t.Fatal("error without a text")
			}
			return
		}
		for _, tok := range c.Gateway.Tokens {
			if (tok.Secret == "") != (tok.Unset != "") || tok.Operator == (tok.Caller.SessionKey != "") {
				t.Fatalf("accepted token %+v", tok)
			}
		}
		for _, id := range append(c.Agents.IDs(), "") {
			r := c.Agents.RunnerOf(id)
			if r == nil {
				continue
			}
			if (r.Kind == RunnerOpenAI) != (r.BaseURL != "") || (r.Kind == RunnerCommand) != (len(r.Argv) > 0) || (r.Kind == RunnerScript) != (len(r.Replies) > 0) {
				t.Fatalf("accepted runner %+v", r)
			}
			for _, reply := range r.Replies {
				if err := jsonstrict.Check(reply.Args); len(reply.Args) > 0 && err != nil {
					t.Fatalf("arguments %s: %v", reply.Args, err)
				}
			}
		}
		for name, ch := range c.Delivery.Channels {
			if name == "" || ch.Sink == "" || (ch.Sink == SinkWebhook) != (ch.URL != "") {
				t.Fatalf("accepted sink %+v of %q", ch, name)
			}
		}
	})
}
