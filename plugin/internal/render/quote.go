// Package render formats text for agents: it quotes text in error messages, and computes
// the size of JSON in the form that an agent reads.
package render

import "unicode/utf8"

// maxRunes is the maximal number of characters in a quoted text.
const maxRunes = 80

// Quote returns s in double quotes, truncated with … after 80 characters, and with ? for
// every character that could break the line or the quotes.
func Quote(s string) string {
	b := append(make([]byte, 0, min(len(s), 4*maxRunes)+8), '"')
	n := 0
	for _, r := range s {
		if n++; n > maxRunes {
			b = append(b, "…"...)
			break
		}
		if !printable(r) {
			r = '?'
		}
		b = utf8.AppendRune(b, r)
	}
	return string(append(b, '"'))
}

func printable(r rune) bool {
	switch {
	case r < 0x20, r == '"', r == utf8.RuneError, r >= 0x7f && r < 0xa0:
		return false
	case r >= 0x200b && r <= 0x200f, r >= 0x2028 && r <= 0x202e, r >= 0x2060 && r <= 0x206f, r == 0xfeff:
		return false // invisible characters and those that change the direction of text
	}
	return true
}
