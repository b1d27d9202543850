package abitest

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
)

// Diff compares two parsed values exactly (numbers by value, members in any
// order) and returns a line for each difference, starting with its path.
func Diff(got, want any) []string {
	var c comparison
	c.exact("", got, want)
	return c.lines
}

// Match compares a parsed value with a pattern: an object matches when each of
// its members does (others may exist), an array when it has as many elements
// and each matches, a scalar when it is equal. An object with members that
// start with $ is a matcher, see matchers.
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
			c.fail(path, "got %s, want an object", brief(got))
			return
		}
		for _, name := range names(g, w) {
			gv, inGot := g[name]
			wv, inWant := w[name]
			switch {
			case !inGot:
				c.fail(join(path, name), "missing, want %s", brief(wv))
			case !inWant:
				c.fail(join(path, name), "not expected: %s", brief(gv))
			default:
				c.exact(join(path, name), gv, wv)
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
			c.fail(path, "got %s, want an object", brief(got))
			return
		}
		for _, name := range names(p) {
			v, ok := g[name]
			if !ok && !mayBeAbsent(p[name]) {
				c.fail(join(path, name), "missing, want %s", brief(p[name]))
				continue
			}
			c.match(join(path, name), v, p[name], ok)
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
		c.fail(path, "got %s, want an array", brief(got))
		return nil, false
	}
	if len(g) != length {
		c.fail(path, "got %d elements, want %d: %s", len(g), length, brief(got))
		return nil, false
	}
	return g, true
}

func (c *comparison) scalar(path string, got, want any) {
	if w, ok := want.(json.Number); ok {
		if g, ok := got.(json.Number); ok && sameNumber(g, w) {
			return
		}
	} else if scalar(got) && got == want {
		return
	}
	c.fail(path, "got %s, want %s", brief(got), brief(want))
}

func scalar(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

// names returns the union of the objects' member names, sorted.
func names(objects ...map[string]any) []string {
	seen := map[string]bool{}
	for _, o := range objects {
		for name := range o {
			seen[name] = true
		}
	}
	all := make([]string, 0, len(seen))
	for name := range seen {
		all = append(all, name)
	}
	sort.Strings(all)
	return all
}

func join(path, name string) string {
	return path + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// brief is a value's JSON, shortened for a message.
func brief(v any) string {
	const most = 160
	text := []rune(string(Compact(v)))
	if len(text) <= most {
		return string(text)
	}
	return fmt.Sprintf("%s… (%d characters)", string(text[:most]), len(text))
}
