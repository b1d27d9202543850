// Package render decides how text is shown: quoted in an error message, and as the
// JSON that an agent reads.
package render

import "unicode/utf8"

// maxRunes is how many characters of a text are shown.
const maxRunes = 80

// Quote returns s in double quotes: at most 80 characters, with … for what was
// left out and ? for every character that could break the line or the quotes.
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
		return false // invisible characters and those that turn the direction of text
	}
	return true
}
