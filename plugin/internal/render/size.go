package render

import (
	"unicode/utf8"

	"github.com/parley-wasm/parley/abi/jsonappend"
)

// Size returns the rendered size, in bytes, of a compact JSON value in an array at the
// given depth. It includes the indentation, a comma and the line end.
//
// An agent receives JSON as text in which each member and element has its own line,
// indented by two spaces per level (S0.1). The limits on results apply to this size,
// because it is the size in the agent's context: an array of small numbers grows by a
// factor of ten.
func Size(doc []byte, depth int) int {
	n := len(doc) + 1 + 2*depth + 1
	for i := 0; i < len(doc); i++ {
		switch doc[i] {
		case '"':
			i = closing(doc, i+1)
		case '{', '[':
			if i+1 < len(doc) && doc[i+1] == doc[i]+2 {
				i++ // {} and [] stay on one line
				continue
			}
			depth++
			n += 1 + 2*depth
		case '}', ']':
			depth--
			n += 1 + 2*depth
		case ',':
			n += 1 + 2*depth
		case ':':
			n++
		}
	}
	return n
}

// closing returns the index of the quote that ends the string at index i.
func closing(doc []byte, i int) int {
	for {
		if i = jsonappend.PlainEnd(doc, i); i >= len(doc) || doc[i] == '"' {
			return i
		}
		if doc[i] == '\\' {
			i++
		}
		for i++; i < len(doc) && doc[i] >= utf8.RuneSelf; {
			i++
		}
	}
}
