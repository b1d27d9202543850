package terminal

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line makes foreign text fit one line of a terminal: white space becomes single
// spaces, control characters become visible.
func Line(s string) string {
	return visible(strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return r == '\n' || r == '\r' || r == '\t' || r == ' '
	}), " "), false)
}

// Text makes foreign text safe to print. Its line breaks stay; tabs become four
// spaces.
func Text(s string) string {
	return visible(strings.NewReplacer("\r\n", "\n", "\t", "    ").Replace(s), true)
}

// visible replaces what a terminal would act upon: control characters by their
// pictures (U+2400…), controls of writing direction and invalid UTF-8 by U+FFFD.
func visible(s string, breaks bool) string {
	ok := func(r rune) bool { return r == '\n' && breaks || !isControl(r) }
	clean := true
	for i, r := range s {
		if !ok(r) || r == utf8.RuneError && strings.IndexByte(s[i:], 0xEF) != 0 {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case ok(r):
			return r
		case r < 0x20:
			return '\u2400' + r
		case r == 0x7f:
			return '\u2421'
		}
		return utf8.RuneError
	}, s)
}

func isControl(r rune) bool {
	switch {
	case unicode.IsControl(r): // C0, DEL, C1
		return true
	case r == '\u2028', r == '\u2029': // line and paragraph separator
		return true
	case r == '\u061c', r == '\u200e', r == '\u200f': // marks of direction
		return true
	case r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069': // overrides and isolates
		return true
	}
	return false
}

// JSON escapes in a JSON document what a terminal would act upon. Such
// characters stand in strings only, so that the document means the same.
func JSON(doc []byte) []byte {
	if !strings.ContainsFunc(string(doc), func(r rune) bool { return r != '\n' && isControl(r) }) {
		return doc
	}
	b := make([]byte, 0, len(doc)+64)
	for _, r := range string(doc) {
		if r != '\n' && isControl(r) {
			b = fmt.Appendf(b, `\u%04x`, r)
			continue
		}
		b = utf8.AppendRune(b, r)
	}
	return b
}
