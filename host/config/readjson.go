package config

import (
	"math"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/host/config/internal/document"
)

// json appends a value of the file as JSON. NaN and numbers beyond ±2^53 are problems.
func (r *reader) json(b []byte, v value) []byte {
	switch n := v.node; n.Kind {
	case document.Bool:
		if n.Bool {
			return append(b, "true"...)
		}
		return append(b, "false"...)
	case document.Number:
		if !(math.Abs(n.Number) <= abi.MaxSafeInteger) { // also NaN
			r.problem(v, "is %s; it must be a number from -2^53 to 2^53", number(n.Number))
			return append(b, '0')
		}
		return append(b, number(n.Number)...)
	case document.String:
		return jsonappend.String(b, n.String)
	case document.Array:
		b = append(b, '[')
		for i := range n.Items {
			if i > 0 {
				b = append(b, ',')
			}
			b = r.json(b, v.item(i))
		}
		return append(b, ']')
	case document.Object:
		o := jsonappend.Open(b)
		r.each(v, func(name string, v value) { o.Value(r.json(o.Key(name), v)) })
		return o.Close()
	}
	return append(b, "null"...)
}
