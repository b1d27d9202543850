package settings

import (
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/plugin/jsonread"
)

type parser struct {
	r   jsonread.Reader
	s   *Settings
	err *abi.Error
}

// members calls f at each member of an object; f consumes its value and reports
// whether it knew the name. Values of other types are passed over.
func (p *parser) members(f func(name string) (known bool)) {
	if !p.r.Object() {
		return
	}
	for p.r.Member() {
		if !f(p.r.Name()) {
			p.r.Skip()
		}
	}
}

func (p *parser) config(name string) bool {
	switch name {
	case "session":
		p.members(p.session)
	case "tools":
		p.members(p.tools)
	case "agents":
		p.members(p.agents)
	default:
		return false
	}
	return true
}

func (p *parser) session(name string) bool {
	switch name {
	case "mainKey":
		p.s.Keys.MainKey = strings.TrimSpace(p.r.Text())
	case "scope":
		p.s.Keys.GlobalScope = p.oneOf("session.scope", "per-sender", "global") == 1
	default:
		return false
	}
	return true
}

func (p *parser) tools(name string) bool {
	switch name {
	case "sessions":
		p.members(func(name string) bool {
			if name != "visibility" {
				return false
			}
			i := p.oneOf("tools.sessions.visibility", "tree", "self", "agent", "all")
			p.s.Visibility = [...]Level{Tree, Self, Agent, All}[i]
			return true
		})
	case "agentToAgent":
		p.members(func(name string) bool {
			switch name {
			case "enabled":
				p.s.AgentToAgent = p.r.Bool()
			case "allow":
				p.s.Allow = p.strings()
			default:
				return false
			}
			return true
		})
	default:
		return false
	}
	return true
}

func (p *parser) agents(name string) bool {
	switch name {
	case "defaults":
		p.members(p.defaults)
	case "list":
		if p.r.Array() {
			for p.r.Element() {
				p.agent()
			}
		}
	default:
		return false
	}
	return true
}

func (p *parser) defaults(name string) bool {
	if name != "sandbox" {
		return false
	}
	p.members(func(name string) bool {
		if name != "sessionToolsVisibility" {
			return false
		}
		p.s.SandboxSeesAll = p.oneOf("agents.defaults.sandbox.sessionToolsVisibility", "spawned", "all") == 1
		return true
	})
	return true
}

func (p *parser) agent() {
	var a ConfiguredAgent
	p.members(func(name string) bool {
		switch name {
		case "id":
			a.ID = lower(p.r.Text())
		case "name":
			a.Name = strings.TrimSpace(p.r.Text())
		case "default":
			a.Default = p.r.Bool()
		case "subagents":
			p.members(func(name string) bool {
				if name != "allowAgents" {
					return false
				}
				a.AllowAgents = p.strings()
				return true
			})
		default:
			return false
		}
		return true
	})
	if a.ID != "" && p.s.Find(a.ID) == nil {
		p.s.Agents = append(p.s.Agents, a)
	}
}

// oneOf reads a string and returns its index in values; null and "" are the
// first. Anything else is recorded as a failure.
func (p *parser) oneOf(path string, values ...string) int {
	raw := p.r.Skip()
	if raw == "null" || raw == `""` {
		return 0
	}
	r := jsonread.New(raw)
	text := r.Text()
	for i, v := range values {
		if v == text {
			return i
		}
	}
	if text == "" {
		text = raw
	}
	if p.err == nil {
		p.err = unknown(path, text, strings.Join(values, ", "))
	}
	return 0
}

// strings reads an array of strings, trimmed and lower-cased. Blank ones and
// values of other types stay as texts that match no agent, so that a mistake
// never turns into the empty list that allows every agent.
func (p *parser) strings() []string {
	if p.r.Peek() == 'n' {
		p.r.Skip()
		return nil
	}
	if !p.r.Array() {
		return []string{""}
	}
	var out []string
	for p.r.Element() {
		out = append(out, lower(p.r.Text()))
	}
	return out
}
