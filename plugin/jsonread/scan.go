package jsonread

import "math/bits"

// Strings are scanned eight bytes at a time: they are most of a document, and a
// loop costs a guest more than what is in it, because each of its rounds may be
// counted or interrupted.

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// StringEnd returns the index of the quote that ends the string whose body
// starts at i, or len(s) when there is none.
func StringEnd(s string, i int) int {
	end, _ := stringEnd(s, i)
	return end
}

func stringEnd(s string, i int) (end int, escaped bool) {
	for i = special(s, i); i < len(s); i = special(s, i+2) {
		if s[i] == '"' {
			return i, escaped
		}
		escaped = true
	}
	return len(s), escaped
}

// special returns the index of the first quote or backslash from i on, or at
// least len(s).
func special(s string, i int) int {
	for ; i+8 <= len(s); i += 8 {
		b := s[i : i+8]
		x := uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
			uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
		quote, backslash := x^('"'*ones), x^('\\'*ones)
		// The lowest bit set is at the first such byte; higher ones may be wrong.
		if found := ((quote-ones)&^quote | (backslash-ones)&^backslash) & highs; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for i < len(s) && s[i] != '"' && s[i] != '\\' {
		i++
	}
	return i
}
