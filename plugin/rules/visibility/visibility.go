// Package visibility decides which sessions a caller may see (S7): as a Scope
// that the host filters by, and for one key.
//
// A key is decided before anything is said about its existence (S7.4): what the
// caller could not see is forbidden, stored or not, in the same words; what it
// could see but is not stored is not found. Only the tree needs the stored row,
// to know who spawned it; a key that is not stored is in nobody's tree.
package visibility

import (
	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/policy"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/plugin/internal/render"
	"github.com/parley-wasm/parley/plugin/rules/settings"
)

// View is what one caller may see under the settings in force.
type View struct {
	Keys  sessionkey.Settings
	Self  string // the calling session's canonical key; empty for the operator
	Agent string // the caller's own agent; the default agent for the operator

	operator bool
	level    settings.Level
	clamped  bool     // a sandbox made level narrower than the settings have it
	others   []string // patterns of the other agents that are visible; nil = none
	refused  string   // the setting that keeps other agents away under level All
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
		v.others, v.refused = others(s, v.Agent)
	}
	return v
}

// others returns the patterns of the agents that own may see (S7.2), or the
// setting that keeps them away.
func others(s *settings.Settings, own string) (patterns []string, refused string) {
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

// Scope returns what the host may answer from: nil, everything, for the
// operator.
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

// Global is the agent to whom the one session of the global scope belongs, or
// empty without that scope: the member Global of the host's requests (S1.3).
func (v *View) Global() string {
	if v.Keys.GlobalScope {
		return v.Agent
	}
	return ""
}

// Show returns a canonical key as this caller is shown it (S1.2).
func (v *View) Show(key string) string { return v.Keys.Display(key, v.Agent) }

// AgentOf returns the agent of a canonical key; the session of the global scope
// is the caller's own (S1.3).
func (v *View) AgentOf(key string) string {
	if id, _, ok := sessionkey.Split(key); ok {
		return id
	}
	return v.Agent
}

// Check returns nil when the caller may see the session: row is what is stored
// under the canonical key, or nil. text is the reference as the caller gave it.
// It fails with abi.Forbidden or, for a visible key without a session,
// abi.NotFound.
func (v *View) Check(text, key string, row *abi.Session) error {
	if !v.Sees(key, row) {
		return v.refusal(text, key)
	}
	if row == nil {
		return abi.NewError(abi.NotFound, "session "+render.Quote(text)+" does not exist; sessions_list shows the sessions that do")
	}
	return nil
}

// Sees reports whether the caller may see the session stored under the canonical
// key, or, when row is nil, whether it could see one there.
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

// refusal names the setting that decides. It says nothing that depends on what
// is stored.
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
	case v.refused == "tools.agentToAgent.enabled":
		why = "tools.agentToAgent.enabled is false: the sessions of other agents are not visible"
	default:
		why = v.refused + " does not match both agents: the sessions of agent " + render.Quote(v.AgentOf(key)) + " are not visible to agent " + render.Quote(v.Agent)
	}
	return abi.NewError(abi.Forbidden, "session "+render.Quote(text)+" is not visible here: "+why)
}
