package config

import "github.com/parley-wasm/parley/abi/jsonappend"

// Member returns the JSON of the named member that a guest may see, "session",
// "tools" or "agents", in the shape of the file with all defaults filled in;
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
	return o.Close()
}

// appendJSON writes agents.defaults.subagents.allowAgents into each agent
// without a list of its own, so that a guest has one place to look.
func (a *Agents) appendJSON(b []byte) []byte {
	o := jsonappend.Open(b)
	d := jsonappend.Open(o.Key("defaults"))
	s := jsonappend.Open(d.Key("sandbox"))
	s.String("sessionToolsVisibility", a.SandboxVisibility)
	d.Value(s.Close())
	o.Value(d.Close())
	l := append(o.Key("list"), '[')
	for i := range a.List {
		if i > 0 {
			l = append(l, ',')
		}
		l = a.List[i].appendJSON(l, a.AllowAgents)
	}
	o.Value(append(l, ']'))
	return o.Close()
}

func (a *Agent) appendJSON(b []byte, allow []string) []byte {
	if a.AllowAgents != nil {
		allow = a.AllowAgents
	}
	o := jsonappend.Open(b)
	o.String("id", a.ID)
	o.OptBool("default", a.Default)
	o.OptString("name", a.Name)
	s := jsonappend.Open(o.Key("subagents"))
	s.Strings("allowAgents", allow)
	o.Value(s.Close())
	return o.Close()
}
