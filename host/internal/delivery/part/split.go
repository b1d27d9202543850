// Package part posts texts that exceed a service's maximum length, in parts. A process
// posts each part once, unless the service reports a failure.
package part

import (
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// UTF16 returns the width of a character for services that count UTF-16 code units.
func UTF16(r rune) int { return max(utf16.RuneLen(r), 1) }

// Split splits a text into parts of at most limit, which must be at least the width of
// one character. It splits after at least half of limit: at the last line break, or
// else at the last space, or else between two characters. It drops the line break or
// space, and blank parts. The result depends only on the arguments, so that a
// position identifies a part. There is at least one part, which may be blank.
func Split(text string, limit int, width func(rune) int) []string {
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	var parts []string
	for rest := text; rest != ""; {
		var part string
		part, rest = splitFirst(rest, limit, width)
		if strings.TrimSpace(part) != "" {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return []string{""}
	}
	return parts
}

// splitFirst splits off the first part.
func splitFirst(text string, limit int, width func(rune) int) (part, rest string) {
	used, line, space := 0, -1, -1
	for i, r := range text {
		late := 2*used > limit
		if used += width(r); used > limit {
			return splitAt(text, i, line, space)
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

// splitAt splits at a line break or space, which is dropped, or else at end.
func splitAt(text string, end, line, space int) (part, rest string) {
	r, size := utf8.DecodeRuneInString(text[end:])
	switch {
	case r == '\n' || unicode.IsSpace(r) && line < 0: // the part ends just before a break
		return text[:end], text[end+size:]
	case line >= 0:
		return text[:line], text[line+1:]
	case space >= 0:
		_, size = utf8.DecodeRuneInString(text[space:])
		return text[:space], text[space+size:]
	}
	return text[:end], text[end:]
}
