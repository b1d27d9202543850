package vector

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/parley-wasm/parley/abi/internal/jsonvalue"
)

// maxExpansion is the number of bytes that $repeat may add to one document.
const maxExpansion = 64 << 20

type expander struct {
	counters map[string]int
	left     int
}

// Expand replaces the generators in a parsed value. Generators keep the files of large
// cases small:
//
//	{"$repeat": "ab", "times": 3}            the string "ababab"
//	{"$concat": ["a", {"$repeat": …}]}       the strings, concatenated
//	{"$times": 3, "each": {…}, "as"?: "i"}   in an array: three elements; {i} in their
//	                                         strings counts from 1
//	{"$number": 100, "step": -5, "of"?: "i"} inside such an element: 95, 90, 85
func Expand(v any) (any, error) {
	e := &expander{counters: map[string]int{}, left: maxExpansion}
	return e.value(v)
}

func (e *expander) value(v any) (any, error) {
	switch v := v.(type) {
	case string:
		return e.text(v), nil
	case []any:
		return e.array(v)
	case map[string]any:
		return e.object(v)
	}
	return v, nil
}

func (e *expander) object(o map[string]any) (any, error) {
	switch {
	case jsonvalue.Has(o, "$repeat"):
		return e.repeat(o)
	case jsonvalue.Has(o, "$concat"):
		return e.concat(o)
	case jsonvalue.Has(o, "$number"):
		return e.number(o)
	case jsonvalue.Has(o, "$times"):
		return nil, fmt.Errorf("$times is allowed only as an element of an array")
	}
	out := make(map[string]any, len(o))
	for name, v := range o {
		x, err := e.value(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out[e.text(name)] = x
	}
	return out, nil
}

func (e *expander) array(a []any) (any, error) {
	out := make([]any, 0, len(a))
	for i, v := range a {
		if o, ok := v.(map[string]any); ok && jsonvalue.Has(o, "$times") {
			times, err := e.times(o)
			if err != nil {
				return nil, fmt.Errorf("%d: %w", i, err)
			}
			out = append(out, times...)
			continue
		}
		x, err := e.value(v)
		if err != nil {
			return nil, fmt.Errorf("%d: %w", i, err)
		}
		out = append(out, x)
	}
	return out, nil
}

func (e *expander) times(o map[string]any) ([]any, error) {
	if err := jsonvalue.Only(o, "$times", "each", "as"); err != nil {
		return nil, err
	}
	n, err := jsonvalue.Integer(o, "$times", 0)
	if err != nil || n < 0 || n > 100_000 {
		return nil, fmt.Errorf("$times: want a number up to 100000")
	}
	as, ok := o["as"].(string)
	if !ok {
		as = "i"
	}
	outer, nested := e.counters[as]
	defer func() {
		if delete(e.counters, as); nested {
			e.counters[as] = outer
		}
	}()
	out := make([]any, 0, n)
	for i := 1; i <= n; i++ {
		e.counters[as] = i
		x, err := e.value(o["each"])
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

func (e *expander) number(o map[string]any) (any, error) {
	if err := jsonvalue.Only(o, "$number", "step", "of"); err != nil {
		return nil, err
	}
	base, err := jsonvalue.Integer(o, "$number", 0)
	if err != nil {
		return nil, err
	}
	step, err := jsonvalue.Integer(o, "step", 1)
	if err != nil {
		return nil, err
	}
	of, ok := o["of"].(string)
	if !ok {
		of = "i"
	}
	return json.Number(strconv.Itoa(base + step*e.counters[of])), nil
}

func (e *expander) repeat(o map[string]any) (any, error) {
	if err := jsonvalue.Only(o, "$repeat", "times"); err != nil {
		return nil, err
	}
	unit, ok := o["$repeat"].(string)
	times, err := jsonvalue.Integer(o, "times", -1)
	if !ok || err != nil || times < 0 {
		return nil, fmt.Errorf("$repeat: want a string and times")
	}
	unit = e.text(unit)
	if e.left -= len(unit) * times; e.left < 0 {
		return nil, fmt.Errorf("$repeat: the document grows by more than %d bytes", maxExpansion)
	}
	return strings.Repeat(unit, times), nil
}

func (e *expander) concat(o map[string]any) (any, error) {
	parts, ok := o["$concat"].([]any)
	if err := jsonvalue.Only(o, "$concat"); err != nil || !ok {
		return nil, fmt.Errorf("$concat: want an array of strings and no other member")
	}
	var b strings.Builder
	for _, p := range parts {
		x, err := e.value(p)
		if err != nil {
			return nil, err
		}
		s, ok := x.(string)
		if !ok {
			return nil, fmt.Errorf("$concat: %s is not a string", jsonvalue.Truncate(x))
		}
		b.WriteString(s)
	}
	return b.String(), nil
}

func (e *expander) text(s string) string {
	for name, i := range e.counters {
		s = strings.ReplaceAll(s, "{"+name+"}", strconv.Itoa(i))
	}
	return s
}
