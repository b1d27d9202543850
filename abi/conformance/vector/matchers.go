package vector

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/parley-wasm/parley/abi/internal/jsonvalue"
)

// missing is the value that $or receives for a member that does not exist.
type missing struct{}

func (c *comparison) or(path string, got, arg any) {
	_, absent := got.(missing)
	for _, pattern := range jsonvalue.List(arg) {
		var try comparison
		if absent && !mayBeAbsent(pattern) {
			continue
		}
		if try.match(path, got, pattern, !absent); len(try.lines) == 0 {
			return
		}
	}
	if absent {
		got = nil
	}
	c.fail(path, "got %s, want one of %s", jsonvalue.Truncate(got), jsonvalue.Truncate(arg))
}

func (c *comparison) all(path string, got, arg any) {
	for _, pattern := range jsonvalue.List(arg) {
		c.match(path, got, pattern, true)
	}
}

func (c *comparison) only(path string, got, arg any) {
	g, _ := got.(map[string]any)
	p, _ := arg.(map[string]any)
	for _, name := range jsonvalue.Names(g) {
		if _, ok := p[name]; !ok {
			c.fail(jsonvalue.Join(path, name), "not expected: %s", jsonvalue.Truncate(g[name]))
		}
	}
	c.match(path, got, p, true)
}

func (c *comparison) affix(path string, got, arg any, has func(string, string) bool, where string) {
	if !has(jsonvalue.Text(got), jsonvalue.Text(arg)) {
		c.fail(path, "got %s, want it to %s with %s", jsonvalue.Truncate(got), where, jsonvalue.Truncate(arg))
	}
}

func (c *comparison) contains(path string, got, arg any, want bool) {
	for _, part := range jsonvalue.List(arg) {
		if strings.Contains(jsonvalue.Text(got), jsonvalue.Text(part)) != want {
			not := "not to contain"
			if want {
				not = "to contain"
			}
			c.fail(path, "got %s, want it %s %s", jsonvalue.Truncate(got), not, jsonvalue.Truncate(part))
		}
	}
}

func (c *comparison) every(path string, got, arg any) {
	g, ok := got.([]any)
	if !ok {
		c.fail(path, "got %s, want an array", jsonvalue.Truncate(got))
	}
	for i, v := range g {
		c.match(fmt.Sprintf("%s/%d", path, i), v, arg, true)
	}
}

func (c *comparison) some(path string, got, arg any) {
	g, _ := got.([]any)
next:
	for _, pattern := range jsonvalue.List(arg) {
		for _, v := range g {
			if len(Match(v, pattern)) == 0 {
				continue next
			}
		}
		c.fail(path, "no element of %s matches %s", jsonvalue.Truncate(got), jsonvalue.Truncate(pattern))
	}
}

func (c *comparison) at(path string, got, arg any) {
	g, _ := got.([]any)
	p, _ := arg.(map[string]any)
	for _, name := range jsonvalue.Names(p) {
		i, err := strconv.Atoi(name)
		if i < 0 {
			i += len(g)
		}
		if err != nil || i < 0 || i >= len(g) {
			c.fail(jsonvalue.Join(path, name), "no such element in %s", jsonvalue.Truncate(got))
			continue
		}
		c.match(jsonvalue.Join(path, name), g[i], p[name], true)
	}
}

func (c *comparison) pluck(path string, got, arg any) {
	g, _ := got.([]any)
	p, _ := arg.(map[string]any)
	for _, name := range jsonvalue.Names(p) {
		values := make([]any, len(g))
		for i, v := range g {
			if o, ok := v.(map[string]any); ok {
				values[i] = o[name]
			}
		}
		c.exact(path+"/*/"+name, values, p[name])
	}
}

func (c *comparison) unique(path string, got, arg any) {
	g, _ := got.([]any)
	seen := map[string]bool{}
	for i, v := range g {
		o, _ := v.(map[string]any)
		id := jsonvalue.Text(o[jsonvalue.Text(arg)])
		if seen[id] {
			c.fail(fmt.Sprintf("%s/%d", path, i), "%s = %q appears twice", jsonvalue.Text(arg), id)
		}
		seen[id] = true
	}
}

// bound compares a number with a bound. The sign of the comparison must lie between
// low and high.
func (c *comparison) bound(path string, got, want any, op string, low, high int) {
	g, gok := rational(got)
	w, wok := rational(want)
	if !gok || !wok {
		c.fail(path, "got %v, want %s %s", got, op, jsonvalue.Truncate(want))
		return
	}
	if sign := g.Cmp(w); sign < low || sign > high {
		c.fail(path, "got %s, want %s %s", g.RatString(), op, w.RatString())
	}
}

func rational(v any) (*big.Rat, bool) {
	switch n := v.(type) {
	case json.Number:
		return new(big.Rat).SetString(string(n))
	case int64:
		return new(big.Rat).SetInt64(n), true
	}
	return nil, false
}

// size returns the value that $gte and $lte compare: the number itself, or the length.
func size(v any) any {
	if _, ok := v.(json.Number); ok {
		return v
	}
	return length(v)
}

func length(v any) any {
	switch v := v.(type) {
	case []any:
		return int64(len(v))
	case string:
		return int64(utf8.RuneCountInString(v))
	}
	return nil
}
