// Package visibility decides which sessions a caller may see (S7). It returns a Scope by
// which the host filters, and decides on single keys.
//
// Visibility is decided before existence (S7.4). A key that the caller may not see is
// forbidden, with the same text whether or not it is stored; a key that the caller may
// see but that is not stored is not found. A session's tree is the session and the
// sessions that it spawned. Only the decision about a tree needs the stored row, which names
// the parent; a key that is not stored belongs to no tree.
package visibility

import (
	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/policy"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/plugin/internal/render"
	"github.com/parley-wasm/parley/plugin/rules/settings"
)

// View decides which sessions one caller may see under the current settings.
type View struct {
	Keys  sessionkey.Settings
	Self  string // the calling session's canonical key; empty for the operator
	Agent string // the caller's own agent; the default agent for the operator

	operator bool
	level    settings.Level
	clamped  bool     // the sandbox made level narrower than the settings
	others   []string // patterns of the other agents that are visible; nil = none
	hiddenBy string   // the setting that hides other agents under level All
}

// New returns the view of a caller.
func New(s *settings.Settings, c *abi.Caller) *View {
	v := &View{Keys: s.Keys, operator: c.Operator, level: s.Visibility}
	if c.Operator {
		v.Agent = s.Keys.Agent()
		return v
	}
	v.Agent = c.AgentID
	if v.Agent == "" {
		v.Agent, _, _ = sessionkey.Split(c.SessionKey)
	}
	if v.Agent == "" {
		v.Agent = s.Keys.Agent()
	}
	v.Self = c.SessionKey
	if key, err := s.Keys.Canonical(c.SessionKey, v.Agent); err == nil {
		v.Self = key
	}
	if c.Sandboxed && !s.SandboxSeesAll && v.level > settings.Tree {
		v.level, v.clamped = settings.Tree, true
	}
	if v.level == settings.All {
		v.others, v.hiddenBy = others(s, v.Agent)
	}
	return v
}

// others returns the patterns of the agents that own may see (S7.2), and the setting that
// hides all others.
func others(s *settings.Settings, own string) (patterns []string, hiddenBy string) {
	switch {
	case !s.AgentToAgent:
		return nil, "tools.agentToAgent.enabled"
	case len(s.Allow) == 0:
		return []string{"*"}, ""
	case !policy.MatchAny(s.Allow, own):
		return nil, "tools.agentToAgent.allow"
	}
	return s.Allow, "tools.agentToAgent.allow"
}

// Scope returns the sessions that the host may use for an answer. For the operator it returns
// nil, which means all sessions.
func (v *View) Scope() *abi.Scope {
	if v.operator {
		return nil
	}
	s := &abi.Scope{Keys: []string{v.Self}}
	if v.level >= settings.Tree {
		s.SpawnedBy = v.Self
	}
	if v.level >= settings.Agent {
		s.Agents = append(append(make([]string, 0, 1+len(v.others)), v.Agent), v.others...)
	}
	return s
}

// Global returns the agent that owns the one session of the global scope, or "" without
// that scope: the member Global of requests to the host (S1.3).
func (v *View) Global() string {
	if v.Keys.GlobalScope {
		return v.Agent
	}
	return ""
}

// Show returns the form in which this caller sees a canonical key (S1.2).
func (v *View) Show(key string) string { return v.Keys.Display(key, v.Agent) }

// AgentOf returns the agent of a canonical key. For the session of the global scope it
// is the caller's agent (S1.3).
func (v *View) AgentOf(key string) string {
	if id, _, ok := sessionkey.Split(key); ok {
		return id
	}
	return v.Agent
}

// Check returns nil when the caller may see the session and it exists. row is the row
// that is stored under the canonical key, or nil; text is the reference as the caller
// wrote it. Check fails with abi.Forbidden or, for a visible key that is not stored,
// with abi.NotFound.
func (v *View) Check(text, key string, row *abi.Session) error {
	if !v.Sees(key, row) {
		return v.refusal(text, key)
	}
	if row == nil {
		return abi.NewError(abi.NotFound, "session "+render.Quote(text)+" does not exist; sessions_list shows the sessions that do")
	}
	return nil
}

// Sees reports whether the caller may see the session stored under the canonical key or, if
// row is nil, whether the caller could see a session with that key.
func (v *View) Sees(key string, row *abi.Session) bool {
	switch {
	case v.operator, key == v.Self:
		return true
	case v.level >= settings.Tree && row != nil && row.SpawnedBy != "" && row.SpawnedBy == v.Self:
		return true
	case v.level < settings.Agent:
		return false
	}
	id := v.AgentOf(key)
	return id == v.Agent || policy.MatchAny(v.others, id)
}

// refusal returns the error that names the deciding setting. Its text does not depend on
// the stored sessions.
func (v *View) refusal(text, key string) error {
	var why string
	switch {
	case v.clamped:
		why = `this session is sandboxed and agents.defaults.sandbox.sessionToolsVisibility is "spawned": only this session and the sessions it spawned are visible`
	case v.level == settings.Self:
		why = `tools.sessions.visibility is "self": only this session is visible`
	case v.level == settings.Tree:
		why = `tools.sessions.visibility is "tree": only this session and the sessions it spawned are visible`
	case v.level == settings.Agent:
		why = `tools.sessions.visibility is "agent": the sessions of other agents are not visible`
	case v.hiddenBy == "tools.agentToAgent.enabled":
		why = "tools.agentToAgent.enabled is false: the sessions of other agents are not visible"
	default:
		why = v.hiddenBy + " does not match both agents: the sessions of agent " + render.Quote(v.AgentOf(key)) + " are not visible to agent " + render.Quote(v.Agent)
	}
	return abi.NewError(abi.Forbidden, "session "+render.Quote(text)+" is not visible here: "+why)
}
