// Package part posts texts that are longer than a chat takes: in parts, each of
// which is posted once as far as this process can tell.
package part

import (
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// UTF16 is the width of a character for services that count UTF-16 code units.
func UTF16(r rune) int { return max(utf16.RuneLen(r), 1) }

// Split cuts a text into parts no wider than limit, which is at least the width of
// one character. It cuts at the last line break of what fits, else at the last
// space, if that leaves more than half of it, else anywhere between two
// characters; the line break or space is dropped, and so are blank parts. The
// same text is always cut in the same way, so that a part is known by its
// position. There is at least one part, even if it is blank.
func Split(text string, limit int, width func(rune) int) []string {
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	var parts []string
	for rest := text; rest != ""; {
		var part string
		part, rest = cut(rest, limit, width)
		if strings.TrimSpace(part) != "" {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return []string{""}
	}
	return parts
}

// cut cuts the first part off.
func cut(text string, limit int, width func(rune) int) (part, rest string) {
	used, line, space := 0, -1, -1
	for i, r := range text {
		late := 2*used > limit
		if used += width(r); used > limit {
			return cutAt(text, i, line, space)
		}
		switch {
		case !late:
		case r == '\n':
			line = i
		case unicode.IsSpace(r):
			space = i
		}
	}
	return text, ""
}

// cutAt cuts at a break, which is dropped, or else at end.
func cutAt(text string, end, line, space int) (part, rest string) {
	r, size := utf8.DecodeRuneInString(text[end:])
	switch {
	case r == '\n' || unicode.IsSpace(r) && line < 0: // all that fits, up to a break
		return text[:end], text[end+size:]
	case line >= 0:
		return text[:line], text[line+1:]
	case space >= 0:
		_, size = utf8.DecodeRuneInString(text[space:])
		return text[:space], text[space+size:]
	}
	return text[:end], text[end:]
}
