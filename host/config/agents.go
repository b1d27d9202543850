package config

import (
	"cmp"
	"slices"
	"strings"

	"github.com/parley-wasm/parley/abi/policy"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

// maxMinutes is a hundred years, which nobody means to be exceeded.
const maxMinutes = 100 * 366 * 24 * 60

// allowed is an entry of an allowAgents, to be checked when all agents are known.
type allowed struct {
	at value
	id string
}

func (a *Agents) read(r *reader, v value) {
	var entries []allowed
	var paths []string // of the agents in a.List
	r.object(v,
		field{"defaults", func(v value) {
			r.object(v,
				field{"sandbox", func(v value) {
					r.object(v, r.sandboxMode(&a.Sandbox),
						field{"sessionToolsVisibility", r.enumInto(&a.SandboxVisibility, SandboxSpawned, SandboxAll)})
				}},
				field{"model", r.textInto(&a.Model)},
				field{"runner", r.runnerInto(&a.Runner)},
				field{"subagents", func(v value) {
					r.object(v,
						r.allowAgents(&a.AllowAgents, &entries),
						field{"model", r.textInto(&a.Subagents.Model)},
						field{"archiveAfterMinutes", r.intInto(&a.Subagents.ArchiveAfterMinutes, 0, maxMinutes)},
						field{"maxConcurrent", r.intInto(&a.Subagents.MaxConcurrent, 1, 1000)},
						field{"maxChildrenPerAgent", r.intInto(&a.Subagents.MaxChildrenPerAgent, 1, 1000)},
					)
				}},
			)
		}},
		field{"list", func(v value) {
			r.list(v, func(v value) {
				if agent, ok := r.agent(v, &entries); ok && a.add(r, v, agent, paths) {
					paths = append(paths, v.path)
				}
			})
		}},
	)
	a.check(r, entries)
}

func (r *reader) agent(v value, entries *[]allowed) (Agent, bool) {
	var a Agent
	found := r.object(v,
		field{"id", func(v value) {
			if id, ok := r.agentID(v); ok {
				a.ID = id
			}
		}},
		field{"default", r.boolInto(&a.Default)},
		field{"name", r.textInto(&a.Name)},
		field{"model", r.textInto(&a.Model)},
		field{"sandbox", func(v value) { r.object(v, r.sandboxMode(&a.Sandbox)) }},
		field{"runner", r.runnerInto(&a.Runner)},
		field{"subagents", func(v value) {
			r.object(v, r.allowAgents(&a.AllowAgents, entries), field{"model", r.textInto(&a.SubagentModel)})
		}},
	)
	if found == nil {
		return a, false
	}
	if _, ok := found["id"]; !ok {
		r.problem(v, "has no id; give the agent one, such as id: \"main\"")
	}
	return a, a.ID != ""
}

func (r *reader) sandboxMode(to *string) field {
	return field{"mode", r.enumInto(to, policy.SandboxOff, policy.SandboxNonMain, policy.SandboxAlways)}
}

func (r *reader) agentID(v value) (string, bool) {
	s, ok := r.text(v)
	if !ok {
		return "", false
	}
	id, err := sessionkey.AgentID(s)
	if err != nil {
		r.problem(v, "%q %s", clip(s), err)
		return "", false
	}
	return id, true
}

// allowAgents reads a list of agent ids and "*".
func (r *reader) allowAgents(to *[]string, entries *[]allowed) field {
	return field{"allowAgents", func(v value) {
		*to = []string{}
		r.list(v, func(v value) {
			s, ok := r.text(v)
			if !ok {
				return
			}
			if s == "*" {
				*to = append(*to, s)
			} else if id, ok := r.agentID(v); ok {
				*to = append(*to, id)
				*entries = append(*entries, allowed{v, id})
			}
		})
	}}
}

// add appends the agent unless its id, or being the default, is taken.
func (a *Agents) add(r *reader, v value, agent Agent, paths []string) bool {
	for i, other := range a.List {
		if other.ID == agent.ID {
			r.problem(v, "has the id %q, which %s has already", agent.ID, paths[i])
			return false
		}
		if other.Default && agent.Default {
			r.problem(v, "is a second default; %s is one already", paths[i])
			agent.Default = false
		}
	}
	a.List = append(a.List, agent)
	return true
}

// check refuses permissions for agents that are not configured: they could only
// be mistakes.
func (a *Agents) check(r *reader, entries []allowed) {
	ids := a.IDs()
	for _, e := range entries {
		if !slices.Contains(ids, e.id) {
			r.problem(e.at, "%q is not a configured agent; configured: %s", e.id, strings.Join(ids, ", "))
		}
	}
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

// Sandboxes reports whether a session of the agent is sandboxed, whoever speaks as
// it (S7.3).
func (c *Config) Sandboxes(agentID, sessionKey string) bool {
	mode := c.Agents.Sandbox
	for i := range c.Agents.List {
		if l := &c.Agents.List[i]; l.ID == agentID && l.Sandbox != "" {
			mode = l.Sandbox
		}
	}
	return policy.Sandboxed(mode, c.Keys(), agentID, sessionKey)
}

// ModelOf returns the model that an agent uses: its own, its runner's, or that of
// all agents; "" leaves it to the runner.
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

// RunnerOf returns what executes the runs of an agent, or nil.
func (a *Agents) RunnerOf(id string) *Runner {
	for i := range a.List {
		if l := &a.List[i]; l.ID == id && l.Runner != nil {
			return l.Runner
		}
	}
	return a.Runner
}
