package refhost

import (
	"strconv"
	"unicode/utf8"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/internal/jsonvalue"
)

// stringLimits are the lengths that strings are cut to, one after the other,
// until the message is short enough.
var stringLimits = []int{abi.MaxString, 16 << 10, 4 << 10}

// shorten holds a message to the ABI's bounds: strings of MaxString bytes at
// most, cut on a code-point boundary, and MaxMessage bytes in all. Of a message
// that stays longer only role and timestamp are given.
func shorten(m abi.Message) abi.Message {
	if len(m.JSON) <= abi.MaxString {
		return m
	}
	raw := m.JSON
	for _, limit := range stringLimits {
		v, err := jsonvalue.Parse(raw)
		if err != nil {
			panic("refhost: a stored message is no JSON: " + err.Error())
		}
		v, m.Truncations = cutStrings(v, limit, "", nil)
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

func cutStrings(v any, limit int, path string, cuts []abi.Truncation) (any, []abi.Truncation) {
	switch v := v.(type) {
	case string:
		if len(v) <= limit {
			return v, cuts
		}
		end := limit
		for !utf8.RuneStart(v[end]) {
			end--
		}
		return v[:end], append(cuts, abi.Truncation{Path: path, Bytes: int64(len(v))})
	case []any:
		for i := range v {
			v[i], cuts = cutStrings(v[i], limit, path+"/"+strconv.Itoa(i), cuts)
		}
	case map[string]any:
		for _, name := range jsonvalue.Names(v) { // the order of Compact
			v[name], cuts = cutStrings(v[name], limit, jsonvalue.Join(path, name), cuts)
		}
	}
	return v, cuts
}
