// Package config reads the configuration of a gateway: one JSON5 file with the OpenClaw
// settings of the specification (S0 to S10) and Parley's own settings.
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
// A file is accepted or refused as a whole. Every unknown name, duplicate name and invalid
// value is a Problem with its path and position, and Parse reports all problems of the
// file together. A secret whose environment variable is not set is not a Problem: the
// value stays empty, and a field whose name ends in Unset holds the variable's name.
//
// tools.subagents.tools.allow and .deny list names of tools, in which * matches any
// sequence of characters, such as "sessions_*". Spawned children may use every tool except
// the session tools (S5.4). allow permits session tools, but never sessions_spawn. deny
// forbids any tool and takes precedence.
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

// MaxPingPongTurns is the maximum and the default of
// session.agentToAgent.maxPingPongTurns (S4.6).
const MaxPingPongTurns = 5

// DefaultListen is the default of gateway.listen.
const DefaultListen = "127.0.0.1:8484"

// Config holds all settings. Parse, Load and Default fill in the defaults, except those of
// PluginLimits. A Config is safe for concurrent use as long as no caller modifies it.
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
	MainKey string `config:"mainKey" format:"mainKey" guest:"always"`        // the last part of the keys of main sessions (S1.2)
	Scope   string `config:"scope" oneOf:"per-sender global" guest:"always"` // ScopePerSender or ScopeGlobal
	// MaxPingPongTurns is from 0 to the constant MaxPingPongTurns; read clamps larger values
	// (S4.6).
	MaxPingPongTurns int    `config:"agentToAgent.maxPingPongTurns" range:"0 2147483647" guest:"always"`
	AnnounceLocale   string `config:"announce.locale" oneOf:"en pt" guest:"always"` // LocaleEnglish or LocalePortuguese (S5.5)
	// Owners are the senders, as <channel>:<senderId>, that may use /send (S8.2).
	Owners     []string    `config:"owners" format:"owner"`
	SendPolicy policy.Send `config:"sendPolicy"`
}

// Tools are the settings of the session tools: which sessions and tools are available.
type Tools struct {
	Visibility   string       `config:"sessions.visibility" oneOf:"self tree agent all" guest:"always"` // one of the Visibility constants
	AgentToAgent AgentToAgent `config:"agentToAgent" guest:"always"`
	Subagents    policy.Tools `config:"subagents.tools" guest:"always"` // of spawned children (S5.4)
}

// Models are the permitted models and their prices.
type Models struct {
	Allow   []string         `config:"allow" guest:"set"` // models that a spawn may select (S5.2); nil: all
	Pricing map[string]Price `config:"pricing"`           // by model
}

// Price is the price of a model in dollars per million tokens.
type Price struct {
	InputPerMTok  float64 `config:"inputPerMTok" missing:"has no inputPerMTok"`
	OutputPerMTok float64 `config:"outputPerMTok" missing:"has no outputPerMTok"`
}

// AgentToAgent gives access to the sessions of other agents (S7.2).
type AgentToAgent struct {
	Enabled bool     `config:"enabled" guest:"always"`
	Allow   []string `config:"allow" format:"agentPattern" guest:"always"` // patterns of agent ids, with *; empty = all
}

// Gateway holds the listening address and the tokens of clients.
type Gateway struct {
	Listen string  `config:"listen" format:"address"` // host:port
	Tokens []Token `config:"tokens"`
}

// Store holds the location of the database.
type Store struct {
	Path string `config:"path"` // empty: the program chooses
}

// Runs are the limits of agents' runs.
type Runs struct {
	MaxAttempts    int `config:"maxAttempts" range:"1 10"`       // attempts of a run, including the first (S10.2)
	TimeoutSeconds int `config:"timeoutSeconds" range:"1 86400"` // the time limit of a run that has no own one, from its start
	MainSlots      int `config:"groups.main" range:"1 1000"`     // maximum number of concurrent runs for messages from outside
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

// Keys returns the settings on which the grammar of session keys depends.
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

// read reads the whole file. It checks the sessions of tokens last, because they depend on
// other settings.
func (c *Config) read(r *reader, root value) {
	r.object(root, c)
	c.Session.MaxPingPongTurns = min(c.Session.MaxPingPongTurns, MaxPingPongTurns) // clamped (S4.6)
	c.checkTokens(r, root.get("gateway", "tokens"))
}
