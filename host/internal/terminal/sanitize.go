package terminal

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line makes untrusted text safe to print on one line: white space becomes single
// spaces, control characters become visible.
func Line(s string) string {
	return visible(strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return r == '\n' || r == '\r' || r == '\t' || r == ' '
	}), " "), false)
}

// Text makes untrusted text safe to print. It keeps line breaks; tabs become four
// spaces.
func Text(s string) string {
	return visible(strings.NewReplacer("\r\n", "\n", "\t", "    ").Replace(s), true)
}

// visible replaces characters that control a terminal: C0 controls and DEL by their
// pictures (U+2400…); C1 and bidirectional controls, line and paragraph separators, and
// invalid UTF-8 by U+FFFD.
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
	case r == '\u061c', r == '\u200e', r == '\u200f': // direction marks
		return true
	case r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069': // overrides and isolates
		return true
	}
	return false
}

// JSON escapes the characters of a JSON document that control a terminal. doc must have
// no white space between tokens except spaces and line feeds. Then such characters occur
// only in strings, and the document's value is unchanged.
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
