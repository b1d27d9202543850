package settings

import (
	"math"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
)

// parser reads single settings and keeps the first failure.
type parser struct {
	config gjson.Result
	err    *abi.Error
}

// oneOf reads a string and returns its index in values; absent, null and "" mean the
// first value. It records any other value as a failure.
func (p *parser) oneOf(path string, values ...string) int {
	p.objects(path)
	return p.choice(path, p.config.Get(path), values...)
}

// choice is like oneOf, but for the given value of the setting at path.
func (p *parser) choice(path string, v gjson.Result, values ...string) int {
	if v.Type == gjson.Null || v.Raw == `""` {
		return 0
	}
	for i, value := range values {
		if v.Str == value {
			return i
		}
	}
	text := v.Str
	if text == "" {
		text = v.Raw
	}
	p.fail(path, text, strings.Join(values, ", "))
	return 0
}

// fail records the first failure.
func (p *parser) fail(path, value, accepted string) {
	if p.err == nil {
		p.err = unknown(path, value, accepted)
	}
}

// list calls read with each element of an array until read reports that an element is
// not accepted. Absent and null mean an empty array. It records an element that is not
// accepted, and a value that is not an array, as failures.
func (p *parser) list(path, accepted string, read func(gjson.Result) bool) {
	p.objects(path)
	v := p.config.Get(path)
	if v.Type == gjson.Null {
		return
	}
	if !v.IsArray() {
		p.fail(path, v.Raw, "lists of "+accepted)
		return
	}
	v.ForEach(func(_, v gjson.Result) bool {
		ok := read(v)
		if !ok {
			p.fail(path, v.Raw, accepted)
		}
		return ok
	})
}

// strings reads an array of strings, trimmed.
func (p *parser) strings(path string) (all []string) {
	p.list(path, "strings", func(v gjson.Result) bool {
		all = append(all, strings.TrimSpace(v.Str))
		return v.Type == gjson.String
	})
	return all
}

// text reads a string, trimmed; absent and null mean "".
func (p *parser) text(path string) string {
	p.objects(path)
	v := p.config.Get(path)
	if v.Type != gjson.Null && v.Type != gjson.String {
		p.fail(path, v.Raw, "strings")
	}
	return strings.TrimSpace(v.Str)
}

// flag reads a boolean; absent and null mean false.
func (p *parser) flag(path string) bool {
	p.objects(path)
	v := p.config.Get(path)
	if v.Type != gjson.Null && !v.IsBool() {
		p.fail(path, v.Raw, "true and false")
	}
	return v.Type == gjson.True
}

// clamped reads a number, floored and clamped to [low, high]; absent and null mean def.
// It records a value of another type as a failure.
func (p *parser) clamped(path string, def, low, high int64) int64 {
	p.objects(path)
	v := p.config.Get(path)
	switch {
	case v.Type == gjson.Null:
		return def
	case v.Type != gjson.Number:
		p.fail(path, v.Raw, "numbers")
		return def
	}
	return int64(math.Floor(max(float64(low), min(float64(high), v.Num))))
}

// objects records a failure if a parent of the setting at path exists but is not an
// object. Otherwise the setting would be read as absent, and its default may permit more
// than the operator intended.
func (p *parser) objects(path string) {
	for i := range len(path) {
		if path[i] != '.' {
			continue
		}
		if v := p.config.Get(path[:i]); v.Type != gjson.Null && !v.IsObject() {
			p.fail(path[:i], v.Raw, "objects")
		}
	}
}

// agents reads agents.list. Of two agents with the same id the first counts; an entry
// without an id is ignored.
func (p *parser) agents() (all []ConfiguredAgent) {
	p.list("agents.list", "agents", func(v gjson.Result) bool {
		if a := agent(v); a.ID != "" && find(all, a.ID) == nil {
			all = append(all, a)
		}
		return true
	})
	return all
}

func agent(v gjson.Result) (a ConfiguredAgent) {
	v.ForEach(func(name, v gjson.Result) bool {
		switch name.Str {
		case "id":
			a.ID = lower(v.Str)
		case "name":
			a.Name = strings.TrimSpace(v.Str)
		case "default":
			a.Default = v.Type == gjson.True
		case "model":
			a.model = strings.TrimSpace(v.Str)
		case "subagents":
			a.AllowAgents = patterns(v.Get("allowAgents"))
			a.childModel = strings.TrimSpace(v.Get("model").Str)
		}
		return true
	})
	return a
}

// texts reads an array of strings, trimmed; absent and null mean nil. Any other value,
// and an element that is not a string, becomes "", which matches nothing. A mistake thus
// never results in nil or an empty list, which for some settings allow everything.
func texts(v gjson.Result) []string {
	if v.Type == gjson.Null {
		return nil
	}
	if !v.IsArray() {
		return []string{""}
	}
	out := []string{}
	v.ForEach(func(_, v gjson.Result) bool {
		out = append(out, strings.TrimSpace(v.Str))
		return true
	})
	return out
}

// patterns reads an array of id patterns, lower-cased.
func patterns(v gjson.Result) []string {
	out := texts(v)
	for i := range out {
		out[i] = strings.ToLower(out[i])
	}
	return out
}
