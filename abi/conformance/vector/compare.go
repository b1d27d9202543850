package vector

import (
	"encoding/json"
	"fmt"

	"github.com/parley-wasm/parley/abi/internal/jsonvalue"
)

// Diff compares two parsed values exactly (numbers by value, members in any
// order). It returns one line per difference, each starting with the path.
func Diff(got, want any) []string {
	var c comparison
	c.exact("", got, want)
	return c.lines
}

// Match compares a parsed value with a pattern: an object matches when each of
// its members does (others may exist), an array when it has as many elements
// and each matches, a scalar when it is equal. An object with a member
// that starts with $ is a matcher, see matchers.
func Match(got, pattern any) []string {
	var c comparison
	c.match("", got, pattern, true)
	return c.lines
}

type comparison struct {
	lines []string
}

func (c *comparison) fail(path, format string, args ...any) {
	if path == "" {
		path = "/"
	}
	c.lines = append(c.lines, path+": "+fmt.Sprintf(format, args...))
}

func (c *comparison) exact(path string, got, want any) {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			c.fail(path, "got %s, want an object", jsonvalue.Truncate(got))
			return
		}
		for _, name := range jsonvalue.Names(g, w) {
			gv, inGot := g[name]
			wv, inWant := w[name]
			switch {
			case !inGot:
				c.fail(jsonvalue.Join(path, name), "missing, want %s", jsonvalue.Truncate(wv))
			case !inWant:
				c.fail(jsonvalue.Join(path, name), "not expected: %s", jsonvalue.Truncate(gv))
			default:
				c.exact(jsonvalue.Join(path, name), gv, wv)
			}
		}
	case []any:
		g, ok := c.array(path, got, len(w))
		for i := 0; ok && i < len(w); i++ {
			c.exact(fmt.Sprintf("%s/%d", path, i), g[i], w[i])
		}
	default:
		c.scalar(path, got, want)
	}
}

func (c *comparison) match(path string, got, pattern any, present bool) {
	switch p := pattern.(type) {
	case map[string]any:
		if isMatcher(p) {
			c.matcher(path, got, p, present)
			return
		}
		g, ok := got.(map[string]any)
		if !ok {
			c.fail(path, "got %s, want an object", jsonvalue.Truncate(got))
			return
		}
		for _, name := range jsonvalue.Names(p) {
			v, ok := g[name]
			if !ok && !mayBeAbsent(p[name]) {
				c.fail(jsonvalue.Join(path, name), "missing, want %s", jsonvalue.Truncate(p[name]))
				continue
			}
			c.match(jsonvalue.Join(path, name), v, p[name], ok)
		}
	case []any:
		g, ok := c.array(path, got, len(p))
		for i := 0; ok && i < len(p); i++ {
			c.match(fmt.Sprintf("%s/%d", path, i), g[i], p[i], true)
		}
	default:
		c.scalar(path, got, pattern)
	}
}

func (c *comparison) array(path string, got any, length int) ([]any, bool) {
	g, ok := got.([]any)
	if !ok {
		c.fail(path, "got %s, want an array", jsonvalue.Truncate(got))
		return nil, false
	}
	if len(g) != length {
		c.fail(path, "got %d elements, want %d: %s", len(g), length, jsonvalue.Truncate(got))
		return nil, false
	}
	return g, true
}

func (c *comparison) scalar(path string, got, want any) {
	if w, ok := want.(json.Number); ok {
		if g, ok := got.(json.Number); ok && jsonvalue.SameNumber(g, w) {
			return
		}
	} else if jsonvalue.Scalar(got) && got == want {
		return
	}
	c.fail(path, "got %s, want %s", jsonvalue.Truncate(got), jsonvalue.Truncate(want))
}
