package config

import (
	"reflect"
	"strconv"

	"github.com/parley-wasm/parley/abi/jsonappend"
)

// Member returns as JSON the part of the member "session", "tools", "agents" or "models"
// that a guest (the plugin) may see, structured as in the file and with all defaults filled
// in. It returns nil for any other name. It includes only fields with the tag guest, so a
// guest never receives a secret, an address or a path.
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

// inherited returns a copy in which each agent has its effective Model and AllowAgents, so
// that guests do not have to apply agents.defaults.
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
	panic("config: unsupported type of a guest-visible field: " + v.Type().String())
}
