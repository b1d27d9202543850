package config

import (
	"math"
	"net"
	"strconv"
	"strings"

	"github.com/parley-wasm/parley/abi/sessionkey"
)

// read fills in what the file sets. What depends on other settings is checked
// last: agents by allowAgents, keys by tokens.
func (c *Config) read(r *reader, root value) {
	var tokens []tokenAt
	r.object(root,
		field{"session", func(v value) { c.Session.read(r, v) }},
		field{"tools", func(v value) { c.Tools.read(r, v) }},
		field{"agents", func(v value) { c.Agents.read(r, v) }},
		field{"models", func(v value) { c.Models.read(r, v) }},
		field{"gateway", func(v value) { tokens = c.Gateway.read(r, v) }},
		field{"delivery", func(v value) { c.Delivery.read(r, v) }},
		field{"runs", func(v value) { c.Runs.read(r, v) }},
		field{"store", func(v value) {
			r.object(v, field{"path", r.textInto(&c.Store.Path)})
		}},
		field{"plugins", func(v value) { c.Plugins.read(r, v) }},
	)
	c.readTokens(r, tokens)
}

func (s *Session) read(r *reader, v value) {
	r.object(v,
		field{"mainKey", func(v value) {
			key, ok := r.text(v)
			if !ok {
				return
			}
			if err := checkMainKey(key); err != "" {
				r.problem(v, "%q %s", clip(key), err)
				return
			}
			s.MainKey = key
		}},
		field{"scope", r.enumInto(&s.Scope, ScopePerSender, ScopeGlobal)},
		field{"agentToAgent", func(v value) {
			r.object(v, field{"maxPingPongTurns", func(v value) {
				r.intInto(&s.MaxPingPongTurns, 0, math.MaxInt32)(v)
				s.MaxPingPongTurns = min(s.MaxPingPongTurns, MaxPingPongTurns) // clamped (S4.6)
			}})
		}},
		field{"announce", func(v value) {
			r.object(v, field{"locale", r.enumInto(&s.AnnounceLocale, LocaleEnglish, LocalePortuguese)})
		}},
		field{"owners", func(v value) { s.readOwners(r, v) }},
		field{"sendPolicy", func(v value) { r.sendPolicy(&s.SendPolicy, v) }},
	)
}

// checkMainKey refuses a key under which a main session would read as a session
// of another kind, or as none.
func checkMainKey(key string) string {
	if err := sessionkey.Check(sessionkey.Join(strings.Repeat("a", 64), key)); err != nil {
		return err.Error()
	}
	switch key {
	case sessionkey.Main:
		return ""
	case sessionkey.Current, sessionkey.Global, sessionkey.Unknown:
		return "is a reserved word"
	}
	if sessionkey.Shaped(key) {
		return `reads as a key of another kind; write a plain word such as "main"`
	}
	return ""
}

func (t *Tools) read(r *reader, v value) {
	r.object(v,
		field{"sessions", func(v value) {
			r.object(v, field{"visibility", r.enumInto(&t.Visibility, VisibilitySelf, VisibilityTree, VisibilityAgent, VisibilityAll)})
		}},
		field{"agentToAgent", func(v value) {
			a := &t.AgentToAgent
			r.object(v,
				field{"enabled", r.boolInto(&a.Enabled)},
				field{"allow", func(v value) {
					a.Allow = []string{}
					r.list(v, func(v value) {
						if p, ok := r.pattern(v); ok {
							a.Allow = append(a.Allow, p)
						}
					})
				}},
			)
		}},
		field{"subagents", func(v value) {
			r.object(v, field{"tools", func(v value) {
				r.object(v, field{"allow", r.toolsInto(&t.Subagents.Allow)}, field{"deny", r.toolsInto(&t.Subagents.Deny)})
			}})
		}},
	)
}

// toolsInto reads an array of names of tools, in which * may stand for any run of
// characters. Which tools there are depends on the plugin; what could name none of
// them is a problem, because a tool that is denied under a wrong name is not denied.
func (r *reader) toolsInto(to *[]string) func(value) {
	return func(v value) {
		*to = []string{}
		r.list(v, func(v value) {
			switch s, ok := r.text(v); {
			case !ok:
			case strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_-*") != "":
				r.problem(v, "%q is neither a tool nor a pattern of tools; write a-z, 0-9, _ and -, with * for any run of them", clip(s))
			default:
				*to = append(*to, s)
			}
		})
	}
}

// pattern reads an agent id in which * may stand for any run of characters.
func (r *reader) pattern(v value) (string, bool) {
	s, ok := r.text(v)
	if !ok {
		return "", false
	}
	s = strings.ToLower(s)
	if plain := strings.ReplaceAll(s, "*", ""); len(s) > 64 || plain != "" && !isAgentID("a"+plain) {
		r.problem(v, "%q is not a pattern of agent ids; write a-z, 0-9, _ and -, with * for any run of them", clip(s))
		return "", false
	}
	return s, true
}

func isAgentID(s string) bool {
	id, err := sessionkey.AgentID(s)
	return err == nil && id == s
}

func (g *Gateway) read(r *reader, v value) (tokens []tokenAt) {
	r.object(v,
		field{"listen", func(v value) {
			address, ok := r.text(v)
			if !ok {
				return
			}
			_, port, err := net.SplitHostPort(address)
			if n, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || n > 65535 {
				r.problem(v, "%q is not host:port; write one such as %q", clip(address), DefaultListen)
				return
			}
			g.Listen = address
		}},
		field{"tokens", func(v value) {
			r.list(v, func(v value) { tokens = append(tokens, r.token(v)) })
		}},
	)
	return tokens
}

func (m *Models) read(r *reader, v value) {
	r.object(v,
		field{"allow", r.textsInto(&m.Allow)},
		field{"pricing", func(v value) {
			m.Pricing = map[string]Price{}
			r.each(v, func(model string, v value) {
				var p Price
				found := r.object(v,
					field{"inputPerMTok", r.priceInto(&p.InputPerMTok)},
					field{"outputPerMTok", r.priceInto(&p.OutputPerMTok)},
				)
				r.needs(v, found, "inputPerMTok", "outputPerMTok")
				m.Pricing[model] = p
			})
		}},
	)
}

func (runs *Runs) read(r *reader, v value) {
	r.object(v,
		field{"maxAttempts", r.intInto(&runs.MaxAttempts, 1, 10)},
		field{"timeoutSeconds", r.intInto(&runs.TimeoutSeconds, 1, 24*60*60)},
		field{"groups", func(v value) {
			r.object(v, field{"main", r.intInto(&runs.MainSlots, 1, 1000)})
		}},
	)
}
