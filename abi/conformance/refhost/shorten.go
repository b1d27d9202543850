package refhost

import (
	"strconv"
	"unicode/utf8"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/internal/jsonvalue"
)

// stringLimits are the lengths in bytes to which strings are truncated, tried in order
// until the message is short enough.
var stringLimits = []int{abi.MaxString, 16 << 10, 4 << 10}

// shorten applies the ABI's bounds to a message: at most MaxString bytes in a string,
// truncated at a code-point boundary, and MaxMessage bytes in all. A message that is
// still longer keeps only role and timestamp.
func shorten(m abi.Message) abi.Message {
	if len(m.JSON) <= abi.MaxString {
		return m
	}
	raw := m.JSON
	for _, limit := range stringLimits {
		v, err := jsonvalue.Parse(raw)
		if err != nil {
			panic("refhost: a stored message is not JSON: " + err.Error())
		}
		v, m.Truncations = truncateStrings(v, limit, "", nil)
		m.JSON = jsonvalue.Compact(v)
		if len(m.AppendJSON(nil)) <= abi.MaxMessage {
			return m
		}
	}
	v, _ := jsonvalue.Parse(raw)
	rest := map[string]any{}
	for _, name := range []string{"role", "timestamp"} {
		if member, ok := v.(map[string]any)[name]; ok && jsonvalue.Scalar(member) && len(jsonvalue.Text(member)) <= 100 {
			rest[name] = member
		}
	}
	m.JSON, m.Truncations = jsonvalue.Compact(rest), []abi.Truncation{{Path: "", Bytes: int64(len(raw))}}
	return m
}

func truncateStrings(v any, limit int, path string, truncations []abi.Truncation) (any, []abi.Truncation) {
	switch v := v.(type) {
	case string:
		if len(v) <= limit {
			return v, truncations
		}
		end := limit
		for !utf8.RuneStart(v[end]) {
			end--
		}
		return v[:end], append(truncations, abi.Truncation{Path: path, Bytes: int64(len(v))})
	case []any:
		for i := range v {
			v[i], truncations = truncateStrings(v[i], limit, path+"/"+strconv.Itoa(i), truncations)
		}
	case map[string]any:
		for _, name := range jsonvalue.Names(v) { // in the order of Compact
			v[name], truncations = truncateStrings(v[name], limit, jsonvalue.Join(path, name), truncations)
		}
	}
	return v, truncations
}
