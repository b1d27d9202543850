package jsonread

import (
	"unicode/utf16"
	"unicode/utf8"
)

// Unescape appends the decoded form of a string's body, as RawText returns it.
// Lone surrogates and unknown escapes become U+FFFD.
func Unescape(dst []byte, body string) []byte {
	start := 0
	for i := special(body, 0); i < len(body); i = special(body, i+1) {
		if body[i] != '\\' {
			continue // a quote, which no body has
		}
		dst = append(dst, body[start:i]...)
		i++
		if i >= len(body) {
			return utf8.AppendRune(dst, utf8.RuneError)
		}
		switch c := body[i]; c {
		case '"', '\\', '/':
			dst = append(dst, c)
		case 'n':
			dst = append(dst, '\n')
		case 't':
			dst = append(dst, '\t')
		case 'r':
			dst = append(dst, '\r')
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'u':
			var r rune
			r, i = unicodeEscape(body, i+1)
			dst = utf8.AppendRune(dst, r)
			i--
		default:
			dst = utf8.AppendRune(dst, utf8.RuneError)
		}
		start = i + 1
	}
	return append(dst, body[start:]...)
}

// unicodeEscape decodes the four digits at body[i:], with the second half of a
// surrogate pair if there is one, and returns the index behind.
func unicodeEscape(body string, i int) (rune, int) {
	r := hex4(body, i)
	if r < 0 {
		return utf8.RuneError, i
	}
	i += 4
	if !utf16.IsSurrogate(r) {
		return r, i
	}
	if i+6 <= len(body) && body[i] == '\\' && body[i+1] == 'u' {
		if pair := utf16.DecodeRune(r, hex4(body, i+2)); pair != utf8.RuneError {
			return pair, i + 6
		}
	}
	return utf8.RuneError, i
}

func hex4(s string, i int) rune {
	if i+4 > len(s) {
		return -1
	}
	var r rune
	for _, c := range []byte(s[i : i+4]) {
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
