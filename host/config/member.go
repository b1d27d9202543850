package config

import "github.com/parley-wasm/parley/abi/jsonappend"

// Member returns the JSON of the named member that a guest may see, "session",
// "tools", "agents" or "models", in the shape of the file with all defaults filled in;
// nil for any other name. Nothing else of the settings reaches a guest: no
// secret, no address, no path.
func (c *Config) Member(name string) []byte {
	switch name {
	case "session":
		return c.Session.appendJSON(nil)
	case "tools":
		return c.Tools.appendJSON(nil)
	case "agents":
		return c.Agents.appendJSON(nil)
	case "models":
		return c.Models.appendJSON(nil)
	}
	return nil
}

func (s *Session) appendJSON(b []byte) []byte {
	o := jsonappend.Open(b)
	o.String("mainKey", s.MainKey)
	o.String("scope", s.Scope)
	a := jsonappend.Open(o.Key("agentToAgent"))
	a.Int("maxPingPongTurns", int64(s.MaxPingPongTurns))
	o.Value(a.Close())
	n := jsonappend.Open(o.Key("announce"))
	n.String("locale", s.AnnounceLocale)
	o.Value(n.Close())
	return o.Close()
}

func (m *Models) appendJSON(b []byte) []byte {
	o := jsonappend.Open(b)
	if m.Allow != nil {
		o.Strings("allow", m.Allow)
	}
	return o.Close()
}

func (t *Tools) appendJSON(b []byte) []byte {
	o := jsonappend.Open(b)
	s := jsonappend.Open(o.Key("sessions"))
	s.String("visibility", t.Visibility)
	o.Value(s.Close())
	a := jsonappend.Open(o.Key("agentToAgent"))
	a.Bool("enabled", t.AgentToAgent.Enabled)
	a.Strings("allow", t.AgentToAgent.Allow)
	o.Value(a.Close())
	c := jsonappend.Open(o.Key("subagents"))
	p := jsonappend.Open(c.Key("tools"))
	p.Strings("allow", t.Subagents.Allow)
	p.Strings("deny", t.Subagents.Deny)
	c.Value(p.Close())
	o.Value(c.Close())
	return o.Close()
}

// appendJSON writes agents.defaults.subagents.allowAgents into each agent
// without a list of its own, and the model that it uses, so that a guest has one
// place to look.
func (a *Agents) appendJSON(b []byte) []byte {
	o := jsonappend.Open(b)
	d := jsonappend.Open(o.Key("defaults"))
	s := jsonappend.Open(d.Key("sandbox"))
	s.String("sessionToolsVisibility", a.SandboxVisibility)
	d.Value(s.Close())
	d.OptString("model", a.ModelOf(""))
	c := jsonappend.Open(d.Key("subagents"))
	c.OptString("model", a.Subagents.Model)
	c.Int("archiveAfterMinutes", int64(a.Subagents.ArchiveAfterMinutes))
	c.Int("maxChildrenPerAgent", int64(a.Subagents.MaxChildrenPerAgent))
	d.Value(c.Close())
	o.Value(d.Close())
	l := append(o.Key("list"), '[')
	for i := range a.List {
		if i > 0 {
			l = append(l, ',')
		}
		l = a.List[i].appendJSON(l, a)
	}
	o.Value(append(l, ']'))
	return o.Close()
}

func (a *Agent) appendJSON(b []byte, all *Agents) []byte {
	allow := all.AllowAgents
	if a.AllowAgents != nil {
		allow = a.AllowAgents
	}
	o := jsonappend.Open(b)
	o.String("id", a.ID)
	o.OptBool("default", a.Default)
	o.OptString("name", a.Name)
	o.OptString("model", all.ModelOf(a.ID))
	s := jsonappend.Open(o.Key("subagents"))
	s.Strings("allowAgents", allow)
	s.OptString("model", a.SubagentModel)
	o.Value(s.Close())
	return o.Close()
}
