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
type Config struct {
	Session  Session
	Tools    Tools
	Agents   Agents
	Models   Models
	Gateway  Gateway
	Delivery Delivery
	Runs     Runs
	Store    Store
	Plugins  Plugins
}

// Session are the settings of sessions.
type Session struct {
	MainKey          string // the <rest> of main sessions (S1.2)
	Scope            string // ScopePerSender or ScopeGlobal
	MaxPingPongTurns int    // 0 to MaxPingPongTurns (S4.6)
	AnnounceLocale   string // LocaleEnglish or LocalePortuguese (S5.5)
	// Owners are the senders, as <channel>:<senderId>, whose /send counts (S8.2).
	Owners     []string
	SendPolicy policy.Send
}

// Tools says what the session tools may see.
type Tools struct {
	Visibility   string // one of the Visibility constants
	AgentToAgent AgentToAgent
	Subagents    policy.Tools // of spawned children (S5.4)
}

// Models are the models that may run. A nil Allow is all of them (S5.2).
type Models struct {
	Allow   []string
	Pricing map[string]Price // by model
}

// Price is what a model costs, in dollars for a million tokens.
type Price struct {
	InputPerMTok  float64
	OutputPerMTok float64
}

// AgentToAgent opens the sessions of other agents (S7.2).
type AgentToAgent struct {
	Enabled bool
	Allow   []string // patterns of agent ids, with *; empty = all
}

// Agents are the configured agents. With an empty List there is one, "main".
type Agents struct {
	Model             string   // for agents that have none of their own
	SandboxVisibility string   // SandboxSpawned or SandboxAll
	AllowAgents       []string // for agents that have none of their own
	Subagents         Subagents
	Sandbox           string  // SandboxOff …, for agents that have none of their own
	Runner            *Runner // for agents that have none of their own; nil: there is none
	List              []Agent
}

// Subagents bound the spawned children (S5.2, S5.3, S5.7).
type Subagents struct {
	Model               string // empty: the target agent's
	ArchiveAfterMinutes int    // after a child's run has ended; 0 = never
	MaxConcurrent       int    // children that run at once
	MaxChildrenPerAgent int    // active children of one session
}

// Agent is one configured agent.
type Agent struct {
	ID      string
	Default bool
	Name    string
	Model   string // empty: Agents.Model
	// SubagentModel is for children under this agent; empty: Agents.Subagents.Model.
	SubagentModel string
	// AllowAgents are the agents that it may spawn children under: ids, or "*"
	// for every configured one (S5.2, S6). nil: Agents.AllowAgents.
	AllowAgents []string
	Sandbox     string  // empty: Agents.Sandbox
	Runner      *Runner // nil: Agents.Runner
}

// Gateway is how clients reach the gateway.
type Gateway struct {
	Listen string // host:port
	Tokens []Token
}

// Token is a bearer token and whom it stands for: the operator or a session.
type Token struct {
	Secret   Secret
	Unset    string // the environment variable that should hold the secret, if it is not set
	Operator bool
	Caller   Caller // unless Operator
}

// Caller is the session that a token stands for.
type Caller struct {
	SessionKey string // canonical
	AgentID    string
	Channel    string
	To         string
	AccountID  string
	ThreadID   string
	Sandboxed  bool
}

// Store is where sessions are kept.
type Store struct {
	Path string // empty: the program's own choice
}

// Runs bound the runs of agents.
type Runs struct {
	MaxAttempts    int // of one run, the first included (S10.2)
	TimeoutSeconds int // of a run from its start, unless it has its own
	MainSlots      int // runs.groups.main: how many runs of messages from outside are executed at once
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
