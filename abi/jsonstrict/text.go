package jsonstrict

import (
	"unicode/utf8"

	"github.com/parley-wasm/parley/abi/jsonappend"
)

// text reads the string whose opening quote is at w.i.
func (w *walker) text(naming bool) event {
	w.start = w.i
	w.naming = naming
	w.escapes = false
	w.state = inString
	w.i++
	return w.str()
}

// str reads the rest of a string, from w.i.
func (w *walker) str() event {
	doc := w.doc
	for i := w.i; ; {
		i = jsonappend.PlainEnd(doc, i)
		if i == len(doc) {
			w.i = w.start
			return w.wrong("string without an end")
		}
		switch c := doc[i]; {
		case c == '"':
			w.i = i + 1
			if w.naming {
				w.state = afterName
				return w.addNew()
			}
			w.state = afterValue
			return none
		case c == '\\':
			r, end := escape(doc, i)
			if end == 0 {
				w.i = i
				return w.wrong("invalid escape in a string")
			}
			if r == lone {
				w.i = i
				return loneSurrogate
			}
			w.escapes = true
			i = end
		case c < 0x20:
			w.i = i
			return rawControl
		default:
			end := beyondASCII(doc, i)
			if end == i {
				w.i = i
				return invalidUTF8
			}
			i = end
		}
	}
}

// beyondASCII returns the index after the valid UTF-8 sequences of two or more bytes
// that start at i, or i if the first one is not valid.
func beyondASCII(doc []byte, i int) int {
	for i < len(doc) && doc[i] >= utf8.RuneSelf {
		// This branch handles most sequences of three bytes, which dominate texts
		// that are not mainly ASCII. DecodeRune handles the rest.
		if d := doc[i:]; len(d) >= 3 && d[0] > 0xE0 && d[0] < 0xF0 && d[0] != 0xED && d[1]&0xC0 == 0x80 && d[2]&0xC0 == 0x80 {
			i += 3
			continue
		}
		_, size := utf8.DecodeRune(doc[i:])
		if size == 1 {
			return i
		}
		i += size
	}
	return i
}

// lone is the result of escape for half of a surrogate pair.
const lone = -1

// escape decodes the escape whose backslash is at i. It returns the rune, or lone, and
// the index after the escape, or 0 if the escape is invalid. A surrogate pair is one
// escape.
func escape(doc []byte, i int) (r rune, end int) {
	if i+1 == len(doc) {
		return 0, 0
	}
	switch c := doc[i+1]; c {
	case '"', '\\', '/':
		return rune(c), i + 2
	case 'b':
		return '\b', i + 2
	case 'f':
		return '\f', i + 2
	case 'n':
		return '\n', i + 2
	case 'r':
		return '\r', i + 2
	case 't':
		return '\t', i + 2
	case 'u':
		r := hex4(doc, i)
		switch {
		case r < 0:
			return 0, 0
		case r < 0xD800 || r > 0xDFFF:
			return r, i + 6
		case r < 0xDC00:
			if low := hex4(doc, i+6); low >= 0xDC00 && low <= 0xDFFF {
				return (r-0xD800)<<10 + (low - 0xDC00) + 0x10000, i + 12
			}
		}
		return lone, i + 6
	}
	return 0, 0
}

// hex4 returns the value of the \uXXXX at i, or -1 if i has none.
func hex4(doc []byte, i int) rune {
	if i+6 > len(doc) || doc[i] != '\\' || doc[i+1] != 'u' {
		return -1
	}
	var r rune
	for _, c := range doc[i+2 : i+6] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// unescape appends the decoded form of a string's raw text, which the walker has
// checked.
func unescape(b, raw []byte) []byte {
	start := 0
	for i := 0; i < len(raw); {
		if raw[i] != '\\' {
			i++
			continue
		}
		b = append(b, raw[start:i]...)
		r, end := escape(raw, i)
		b = utf8.AppendRune(b, r)
		i, start = end, end
	}
	return append(b, raw[start:]...)
}
