// Package config holds the settings of a gateway: one JSON5 file in OpenClaw's
// terms, plus Parley's own.
//
//	{
//	  session: {
//	    mainKey: "main", scope: "per-sender", owners: ["telegram:123"],
//	    agentToAgent: { maxPingPongTurns: 5 }, announce: { locale: "en" },
//	    sendPolicy: {
//	      rules: [{ match: { channel: "discord", chatType: "group", keyPrefix: "discord:" }, action: "deny" }],
//	      default: "allow",
//	    },
//	  },
//	  tools: {
//	    sessions: { visibility: "tree" },
//	    agentToAgent: { enabled: false, allow: [] },
//	    subagents: { tools: { allow: [], deny: [] } },
//	  },
//	  agents: {
//	    defaults: {
//	      model: "small",
//	      sandbox: { mode: "off", sessionToolsVisibility: "spawned" },
//	      runner: {
//	        kind: "openai", baseUrl: "http://127.0.0.1:11434/v1", apiKey: { env: "OPENAI_API_KEY" }, model: "small",
//	        historyMessages: 50, historyBytes: 262144,
//	      },
//	      subagents: { allowAgents: [], model: "small", archiveAfterMinutes: 60, maxConcurrent: 8, maxChildrenPerAgent: 5 },
//	    },
//	    list: [
//	      { id: "main", default: true, name: "Main", model: "large", subagents: { allowAgents: ["ops"], model: "small" } },
//	      {
//	        id: "ops", sandbox: { mode: "non-main" },
//	        runner: {
//	          kind: "command", argv: ["claude", "-p"], dir: "work", env: { HOME: "/home/ops", API_KEY: { env: "OPS_KEY" } },
//	          maxOutputBytes: 1048576, historyMessages: 50, historyBytes: 262144,
//	        },
//	      },
//	      {
//	        id: "test",
//	        runner: {
//	          kind: "script",
//	          replies: [
//	            { tool: "sessions_list", args: { limit: 5 }, text: "I see {{result}}", afterMs: 200, usage: { input: 900, output: 300 } },
//	            { error: "out of order" },
//	            "REPLY_SKIP",
//	          ],
//	        },
//	      },
//	    ],
//	  },
//	  models: { allow: ["small", "large"], pricing: { small: { inputPerMTok: 0.1, outputPerMTok: 0.4 } } },
//	  gateway: {
//	    listen: "127.0.0.1:8484",
//	    tokens: [
//	      { token: { env: "PARLEY_TOKEN" }, operator: true },
//	      { token: "token-of-ops", caller: { sessionKey: "agent:ops:main", sandboxed: true } },
//	    ],
//	  },
//	  delivery: {
//	    maxAge: "24h",
//	    channels: {
//	      telegram: { sink: "telegram", token: { env: "TELEGRAM_TOKEN" }, baseUrl: "http://127.0.0.1:9001" },
//	      discord: { sink: "webhook", url: "http://127.0.0.1:9000/in", secret: { env: "WEBHOOK_SECRET" } },
//	      webchat: { sink: "log" },
//	    },
//	  },
//	  runs: { maxAttempts: 2, timeoutSeconds: 600, groups: { main: 4 } },
//	  store: { path: "parley.db" },
//	  plugins: {
//	    requireSignature: true, keys: { release: "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=" },
//	    allow: ["store.*", "agent.*", "deliver.send"],
//	    verify: "quick", rollback: { failures: 3, steps: 20 }, maxPinned: 8, watch: "parley.wasm",
//	    limits: {
//	      fuel: 4000000000, memoryMiB: 64, stepTimeoutMs: 5000, hostCalls: 1000, inMiB: 32, outMiB: 8,
//	      logLines: 256, runs: 8, deliveries: 8,
//	    },
//	  },
//	}
//
// A file is accepted whole or refused whole: every unknown name, repeated name
// and bad value is one Problem with its path and place, and all of them are
// reported at once. A secret whose environment variable is not set is none: it
// is missed by whoever needs it (the Unset fields).
//
// What tools.subagents.tools allows and denies are names of tools, in which * stands
// for any run of characters, such as "sessions_*". Spawned children have every tool
// but the session tools (S5.4): allow gives these back, all but sessions_spawn; deny
// takes away any tool, and wins.
//
// The settings are those that the contract (S0 to S10) names, and Parley's own.
// Anything else is an unknown name.
package config

import (
	"time"

	"github.com/parley-wasm/parley/abi/policy"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

// Values of tools.sessions.visibility (S7.1).
const (
	VisibilitySelf  = "self"
	VisibilityTree  = "tree"
	VisibilityAgent = "agent"
	VisibilityAll   = "all"
)

// Values of session.scope (S1.3).
const (
	ScopePerSender = "per-sender"
	ScopeGlobal    = "global"
)

// Values of agents.defaults.sandbox.sessionToolsVisibility (S7.3).
const (
	SandboxSpawned = "spawned"
	SandboxAll     = "all"
)

// Values of session.announce.locale (S5.5).
const (
	LocaleEnglish    = "en"
	LocalePortuguese = "pt"
)

// MaxPingPongTurns bounds session.agentToAgent.maxPingPongTurns, and is its
// default (S4.6).
const MaxPingPongTurns = 5

// DefaultListen is where the gateway listens unless told otherwise.
const DefaultListen = "127.0.0.1:8484"

// Config are the settings. Parse, Load and Default fill in every default. It is
// safe for concurrent use as long as nobody changes it.
//
// The tags of the fields describe the file; see shape.
type Config struct {
	Session  Session  `config:"session" guest:"always"`
	Tools    Tools    `config:"tools" guest:"always"`
	Agents   Agents   `config:"agents" guest:"always"`
	Models   Models   `config:"models" guest:"always"`
	Gateway  Gateway  `config:"gateway"`
	Delivery Delivery `config:"delivery"`
	Runs     Runs     `config:"runs"`
	Store    Store    `config:"store"`
	Plugins  Plugins  `config:"plugins"`
}

// Session are the settings of sessions.
type Session struct {
	MainKey string `config:"mainKey" format:"mainKey" guest:"always"`        // the <rest> of main sessions (S1.2)
	Scope   string `config:"scope" oneOf:"per-sender global" guest:"always"` // ScopePerSender or ScopeGlobal
	// MaxPingPongTurns is 0 to MaxPingPongTurns (S4.6).
	MaxPingPongTurns int    `config:"agentToAgent.maxPingPongTurns" range:"0 2147483647" guest:"always"`
	AnnounceLocale   string `config:"announce.locale" oneOf:"en pt" guest:"always"` // LocaleEnglish or LocalePortuguese (S5.5)
	// Owners are the senders, as <channel>:<senderId>, whose /send counts (S8.2).
	Owners     []string    `config:"owners" format:"owner"`
	SendPolicy policy.Send `config:"sendPolicy"`
}

// Tools says what the session tools may see.
type Tools struct {
	Visibility   string       `config:"sessions.visibility" oneOf:"self tree agent all" guest:"always"` // one of the Visibility constants
	AgentToAgent AgentToAgent `config:"agentToAgent" guest:"always"`
	Subagents    policy.Tools `config:"subagents.tools" guest:"always"` // of spawned children (S5.4)
}

// Models are the models that may run. A nil Allow is all of them (S5.2).
type Models struct {
	Allow   []string         `config:"allow" guest:"set"`
	Pricing map[string]Price `config:"pricing"` // by model
}

// Price is what a model costs, in dollars for a million tokens.
type Price struct {
	InputPerMTok  float64 `config:"inputPerMTok" missing:"has no inputPerMTok"`
	OutputPerMTok float64 `config:"outputPerMTok" missing:"has no outputPerMTok"`
}

// AgentToAgent opens the sessions of other agents (S7.2).
type AgentToAgent struct {
	Enabled bool     `config:"enabled" guest:"always"`
	Allow   []string `config:"allow" format:"agentPattern" guest:"always"` // patterns of agent ids, with *; empty = all
}

// Gateway is how clients reach the gateway.
type Gateway struct {
	Listen string  `config:"listen" format:"address"` // host:port
	Tokens []Token `config:"tokens"`
}

// Store is where sessions are kept.
type Store struct {
	Path string `config:"path"` // empty: the program's own choice
}

// Runs bound the runs of agents.
type Runs struct {
	MaxAttempts    int `config:"maxAttempts" range:"1 10"`       // of one run, the first included (S10.2)
	TimeoutSeconds int `config:"timeoutSeconds" range:"1 86400"` // of a run from its start, unless it has its own
	MainSlots      int `config:"groups.main" range:"1 1000"`     // how many runs of messages from outside are executed at once
}

// Default returns the settings of an empty file.
func Default() *Config {
	return &Config{
		Session: Session{
			MainKey: sessionkey.DefaultMainKey, Scope: ScopePerSender,
			MaxPingPongTurns: MaxPingPongTurns, AnnounceLocale: LocaleEnglish,
			SendPolicy: policy.Send{Default: policy.Allow},
		},
		Tools: Tools{Visibility: VisibilityTree},
		Agents: Agents{
			SandboxVisibility: SandboxSpawned,
			Sandbox:           policy.SandboxOff,
			Subagents:         Subagents{ArchiveAfterMinutes: 60, MaxConcurrent: 8, MaxChildrenPerAgent: 5},
		},
		Gateway:  Gateway{Listen: DefaultListen},
		Delivery: Delivery{MaxAge: 24 * time.Hour},
		Runs:     Runs{MaxAttempts: 2, TimeoutSeconds: 600, MainSlots: 4},
		Plugins:  Plugins{Verify: VerifyQuick, RollbackFailures: 3, RollbackSteps: 20, MaxPinned: 8},
	}
}

// Keys returns what the grammar of session keys depends on.
func (c *Config) Keys() sessionkey.Settings {
	return sessionkey.Settings{
		MainKey:      c.Session.MainKey,
		GlobalScope:  c.Session.Scope == ScopeGlobal,
		DefaultAgent: c.DefaultAgent(),
	}
}

// DefaultAgent returns the agent marked as default, else the first, else "main"
// (S1.4).
func (c *Config) DefaultAgent() string {
	for _, a := range c.Agents.List {
		if a.Default {
			return a.ID
		}
	}
	if len(c.Agents.List) > 0 {
		return c.Agents.List[0].ID
	}
	return sessionkey.DefaultAgent
}

// read reads the whole file. What depends on other settings is checked last: the
// sessions that tokens stand for.
func (c *Config) read(r *reader, root value) {
	r.object(root, c)
	c.Session.MaxPingPongTurns = min(c.Session.MaxPingPongTurns, MaxPingPongTurns) // clamped (S4.6)
	c.checkTokens(r, root.get("gateway", "tokens"))
}
