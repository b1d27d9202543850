// Package settings reads the settings in a step's input: those members of session,
// tools, agents and models that the tools of this plugin use. The host has validated
// them; an absent setting has its default.
package settings

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/plugin/internal/render"
)

// Level is a value of tools.sessions.visibility (S7.1), narrowest first.
type Level uint8

const (
	Self  Level = iota // only the calling session
	Tree               // the calling session and the sessions it spawned
	Agent              // all sessions of the caller's agent, and those of Tree
	All                // the sessions of every agent that agentToAgent allows
)

var levels = [...]string{Self: "self", Tree: "tree", Agent: "agent", All: "all"}

// String returns the level as it is written in the configuration.
func (l Level) String() string { return levels[l] }

// Settings are the settings in force when the step starts.
type Settings struct {
	Keys       sessionkey.Settings
	Visibility Level // tools.sessions.visibility; default Tree

	// SandboxSeesAll is agents.defaults.sandbox.sessionToolsVisibility "all". Without it
	// a sandboxed caller sees at most its tree (S7.3).
	SandboxSeesAll bool

	AgentToAgent bool     // tools.agentToAgent.enabled
	Allow        []string // tools.agentToAgent.allow: patterns, lower-cased; empty = all

	MaxPingPongTurns int // session.agentToAgent.maxPingPongTurns, 0 to 5 (S4.6)

	Portuguese bool // session.announce.locale is "pt" (S5.5)

	Agents []ConfiguredAgent // agents.list, in its order

	Models   []string // models.allow (S5.2); nil: every model
	model    string   // agents.defaults.model
	Children Children // agents.defaults.subagents
}

// Children limits and configures spawned sessions (S5.2, S5.7).
type Children struct {
	MaxActive           int   // maxChildrenPerAgent; default 5
	ArchiveAfterMinutes int64 // default 60; 0: never
	model               string
}

// ConfiguredAgent is an entry of agents.list.
type ConfiguredAgent struct {
	ID          string // lower-cased
	Name        string
	AllowAgents []string // subagents.allowAgents, lower-cased
	Default     bool

	model, childModel string // model, subagents.model
}

// maxPingPongTurns is the upper bound and the default of the setting.
const maxPingPongTurns = 5

// Defaults and bounds of agents.defaults.subagents.
const (
	defaultChildren, maxChildren = 5, 1000
	defaultArchive, maxArchive   = 60, 100 * 366 * 24 * 60
)

// Find returns the configured agent with this id, or nil.
func (s *Settings) Find(id string) *ConfiguredAgent { return find(s.Agents, id) }

func find(agents []ConfiguredAgent, id string) *ConfiguredAgent {
	for i := range agents {
		if agents[i].ID == id {
			return &agents[i]
		}
	}
	return nil
}

// Parse reads a step's config. It fails with abi.Internal for an invalid value of a setting
// that controls access, and of most others: a mistake must not grant access.
func Parse(config string) (*Settings, *abi.Error) {
	p := parser{config: gjson.Parse(config)}
	s := &Settings{
		Visibility:     [...]Level{Tree, Self, Agent, All}[p.oneOf("tools.sessions.visibility", "tree", "self", "agent", "all")],
		SandboxSeesAll: p.oneOf("agents.defaults.sandbox.sessionToolsVisibility", "spawned", "all") == 1,
		AgentToAgent:   p.flag("tools.agentToAgent.enabled"),
		Allow:          patterns(p.config.Get("tools.agentToAgent.allow")),
		Agents:         p.agents(),

		MaxPingPongTurns: int(p.clamped("session.agentToAgent.maxPingPongTurns", maxPingPongTurns, 0, maxPingPongTurns)),
	}
	s.Portuguese = p.oneOf("session.announce.locale", "en", "pt") == 1
	s.Models = texts(p.config.Get("models.allow"))
	s.model = strings.TrimSpace(p.config.Get("agents.defaults.model").Str)
	s.Children = Children{
		MaxActive:           int(p.clamped("agents.defaults.subagents.maxChildrenPerAgent", defaultChildren, 1, maxChildren)),
		ArchiveAfterMinutes: p.clamped("agents.defaults.subagents.archiveAfterMinutes", defaultArchive, 0, maxArchive),
		model:               strings.TrimSpace(p.config.Get("agents.defaults.subagents.model").Str),
	}
	s.Keys.MainKey = p.text("session.mainKey")
	s.Keys.GlobalScope = p.oneOf("session.scope", "per-sender", "global") == 1
	s.Keys.DefaultAgent = defaultAgent(s.Agents)
	if p.err != nil {
		return nil, p.err
	}
	return s, nil
}

func defaultAgent(agents []ConfiguredAgent) string {
	for i := range agents {
		if agents[i].Default {
			return agents[i].ID
		}
	}
	if len(agents) > 0 {
		return agents[0].ID
	}
	return sessionkey.DefaultAgent
}

func unknown(path, value, accepted string) *abi.Error {
	return abi.NewError(abi.Internal, "configuration: "+path+" has the unknown value "+render.Quote(value)+"; accepted are "+accepted)
}

func lower(s string) string { return strings.ToLower(strings.TrimSpace(s)) }
