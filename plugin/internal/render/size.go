package render

import (
	"unicode/utf8"

	"github.com/parley-wasm/parley/abi/jsonappend"
)

// Size returns the rendered size of a compact value in an array at the given depth:
// its line's indentation, the value, a comma and the end of the line.
//
// An agent is shown JSON as one text in which each member and element has a line of
// its own, indented by two for each level (S0.1). The limits on results count this
// size, because it is what fills an agent's context; an array of small numbers grows
// by a factor of ten.
func Size(doc []byte, depth int) int {
	n := len(doc) + 1 + 2*depth + 1
	for i := 0; i < len(doc); i++ {
		switch doc[i] {
		case '"':
			i = closing(doc, i+1)
		case '{', '[':
			if i+1 < len(doc) && doc[i+1] == doc[i]+2 {
				i++ // {} and [] stay on their line
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

// closing returns the index of the quote that ends the string in which i is.
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
