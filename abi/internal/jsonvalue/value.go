package jsonvalue

import (
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// Has reports whether an object has a member.
func Has(o map[string]any, name string) bool {
	_, ok := o[name]
	return ok
}

// Only returns an error if the object has other members than the allowed ones.
func Only(o map[string]any, allowed ...string) error {
	for _, name := range Names(o) {
		known := false
		for _, a := range allowed {
			known = known || a == name
		}
		if !known {
			return fmt.Errorf("unknown member %q; known are %s", name, strings.Join(allowed, ", "))
		}
	}
	return nil
}

// Integer returns a member that is a whole number, or absent if o lacks the member.
func Integer(o map[string]any, name string, absent int) (int, error) {
	v, ok := o[name]
	if !ok {
		return absent, nil
	}
	n, ok := v.(json.Number)
	if !ok {
		return 0, fmt.Errorf("%s: want a whole number, got %s", name, Truncate(v))
	}
	i, err := strconv.Atoi(string(n))
	if err != nil {
		return 0, fmt.Errorf("%s: want a whole number, got %s", name, n)
	}
	return i, nil
}

// Scalar reports whether a value is neither object nor array.
func Scalar(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

// Names returns the union of the objects' member names, sorted.
func Names(objects ...map[string]any) []string {
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

// Join appends a member name to a JSON Pointer.
func Join(path, name string) string {
	return path + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// Truncate returns a value's JSON, truncated for a message.
func Truncate(v any) string {
	const most = 160
	text := []rune(string(Compact(v)))
	if len(text) <= most {
		return string(text)
	}
	return fmt.Sprintf("%s… (%d characters)", string(text[:most]), len(text))
}

// Text returns a string itself, and the JSON of any other value.
func Text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return string(Compact(v))
}

// List returns an array, or an array that holds only v if v is not an array.
func List(v any) []any {
	if l, ok := v.([]any); ok {
		return l
	}
	return []any{v}
}
