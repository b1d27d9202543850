package config

import (
	"reflect"
	"strconv"

	"github.com/parley-wasm/parley/abi/jsonappend"
)

// Member returns the JSON of the named member that a guest may see, "session",
// "tools", "agents" or "models", in the shape of the file with all defaults filled in;
// nil for any other name. It has the fields that a tag opens to guests, so nothing else
// of the settings reaches one: no secret, no address, no path.
func (c *Config) Member(name string) []byte {
	shown := *c
	shown.Agents = c.Agents.inherited()
	s := reflect.ValueOf(&shown).Elem()
	m := shapeOf(s.Type()).find(name)
	if m == nil || m.tag.Get("guest") == "" {
		return nil
	}
	return appendValue(nil, s.Field(m.field))
}

// inherited gives each agent the models and the agents to spawn under that it gets from
// agents.defaults, so that a guest has one place to look.
func (a *Agents) inherited() Agents {
	out := *a
	out.Model = a.ModelOf("")
	out.List = make([]Agent, len(a.List))
	for i, agent := range a.List {
		agent.Model = a.ModelOf(agent.ID)
		if agent.AllowAgents == nil {
			agent.AllowAgents = a.Subagents.AllowAgents
		}
		out.List[i] = agent
	}
	return out
}

func appendMembers(b []byte, s shape, from reflect.Value) []byte {
	o := jsonappend.Open(b)
	for _, m := range s {
		if m.inner != nil {
			if inner := appendMembers(nil, m.inner, from); len(inner) > len("{}") {
				o.Raw(m.name, inner)
			}
			continue
		}
		v, guest := from.Field(m.field), m.tag.Get("guest")
		if guest == "always" || guest == "set" && !v.IsZero() {
			o.Value(appendValue(o.Key(m.name), v))
		}
	}
	return o.Close()
}

func appendValue(b []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Bool:
		return strconv.AppendBool(b, v.Bool())
	case reflect.Int:
		return strconv.AppendInt(b, v.Int(), 10)
	case reflect.String:
		return jsonappend.String(b, v.String())
	case reflect.Struct:
		return appendMembers(b, shapeOf(v.Type()), v)
	case reflect.Slice:
		b = append(b, '[')
		for i := range v.Len() {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendValue(b, v.Index(i))
		}
		return append(b, ']')
	}
	panic("config: a guest cannot get a " + v.Type().String())
}
