package config

import (
	"cmp"
	"slices"
	"strings"

	"github.com/parley-wasm/parley/abi/policy"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

// Agents are the configured agents and their defaults. An empty List means one agent,
// "main".
type Agents struct {
	Sandbox           string    `config:"defaults.sandbox.mode" oneOf:"off non-main all"` // a policy.Sandbox constant, for agents without a mode
	SandboxVisibility string    `config:"defaults.sandbox.sessionToolsVisibility" oneOf:"spawned all" guest:"always"`
	Model             string    `config:"defaults.model" guest:"set"` // for agents without a model
	Runner            *Runner   `config:"defaults.runner"`            // for agents without a runner; nil: no runner
	Subagents         Subagents `config:"defaults.subagents" guest:"always"`
	List              []Agent   `config:"list" guest:"always"`
}

// Subagents are the settings and limits of spawned children (S5.2, S5.3, S5.7).
type Subagents struct {
	AllowAgents         []string `config:"allowAgents" format:"agentOrAll"`                       // for agents without such a list
	Model               string   `config:"model" guest:"set"`                                     // empty: the model of the child's agent
	ArchiveAfterMinutes int      `config:"archiveAfterMinutes" range:"0 52704000" guest:"always"` // from the end of the child's run; 0 = never
	MaxConcurrent       int      `config:"maxConcurrent" range:"1 1000"`                          // children whose runs execute at the same time
	MaxChildrenPerAgent int      `config:"maxChildrenPerAgent" range:"1 1000" guest:"always"`     // active children of one session
}

// Agent is one configured agent.
type Agent struct {
	ID      string  `config:"id" format:"agent" missing:"has no id; give the agent one, such as id: \"main\"" guest:"always"`
	Default bool    `config:"default" guest:"set"`
	Name    string  `config:"name" guest:"set"`
	Model   string  `config:"model" guest:"set"`                     // empty: Agents.Model
	Sandbox string  `config:"sandbox.mode" oneOf:"off non-main all"` // empty: Agents.Sandbox
	Runner  *Runner `config:"runner"`                                // nil: Agents.Runner
	// AllowAgents are the permitted agents of the children that this agent spawns: ids, or
	// "*" for every configured agent (S5.2, S6). nil: Subagents.AllowAgents.
	AllowAgents []string `config:"subagents.allowAgents" format:"agentOrAll" guest:"always"`
	// SubagentModel is the model of children whose agent is this one; empty: Subagents.Model.
	SubagentModel string `config:"subagents.model" guest:"set"`
}

// read also reports duplicate ids, a second default agent, and agents in an allowAgents
// list that are not configured.
func (a *Agents) read(r *reader, v value) {
	r.object(v, a)
	allow := []value{v.get("defaults", "subagents", "allowAgents")}
	read, list := a.List, v.get("list")
	a.List = nil
	var paths []string // of the agents in a.List
	for i := range read {
		at := list.item(i)
		if read[i].ID != "" && a.add(r, at, read[i], paths) {
			paths = append(paths, at.path)
		}
		allow = append(allow, at.get("subagents", "allowAgents"))
	}
	ids := a.IDs()
	for _, v := range allow {
		for i, n := range v.node.Items {
			if id, err := sessionkey.AgentID(strings.TrimSpace(n.String)); err == nil && !slices.Contains(ids, id) {
				r.problem(v.item(i), "%q is not a configured agent; configured: %s", id, strings.Join(ids, ", "))
			}
		}
	}
}

// add appends the agent, and reports whether it did: a duplicate id is a problem. A second
// default agent is also a problem, and loses its Default.
func (a *Agents) add(r *reader, v value, agent Agent, paths []string) bool {
	for i, other := range a.List {
		if other.ID == agent.ID {
			r.problem(v, "has the id %q, which %s already uses", agent.ID, paths[i])
			return false
		}
		if other.Default && agent.Default {
			r.problem(v, "is a second default agent; %s is already the default", paths[i])
			agent.Default = false
		}
	}
	a.List = append(a.List, agent)
	return true
}

// IDs returns the ids of all agents, in the order of the file.
func (a *Agents) IDs() []string {
	if len(a.List) == 0 {
		return []string{sessionkey.DefaultAgent}
	}
	ids := make([]string, len(a.List))
	for i := range a.List {
		ids[i] = a.List[i].ID
	}
	return ids
}

// Sandboxed reports whether a session of the agent is sandboxed by configuration,
// regardless of the client that acts as it (S7.3).
func (c *Config) Sandboxed(agentID, sessionKey string) bool {
	mode := c.Agents.Sandbox
	for i := range c.Agents.List {
		if l := &c.Agents.List[i]; l.ID == agentID && l.Sandbox != "" {
			mode = l.Sandbox
		}
	}
	return policy.Sandboxed(mode, c.Keys(), agentID, sessionKey)
}

// ModelOf returns the model of an agent: its own, that of its runner, or the default of all
// agents. "" means that the runner chooses the model.
func (a *Agents) ModelOf(id string) string {
	var own, runner string
	for i := range a.List {
		if a.List[i].ID == id {
			own = a.List[i].Model
		}
	}
	if r := a.RunnerOf(id); r != nil {
		runner = r.Model
	}
	return cmp.Or(own, runner, a.Model)
}

// RunnerOf returns the runner of an agent, or nil if none is configured.
func (a *Agents) RunnerOf(id string) *Runner {
	for i := range a.List {
		if l := &a.List[i]; l.ID == id && l.Runner != nil {
			return l.Runner
		}
	}
	return a.Runner
}
