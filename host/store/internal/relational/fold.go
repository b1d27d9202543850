package relational

import (
	"strings"
	"unicode"

	"github.com/parley-wasm/parley/abi"
)

// separator separates the texts that are searched as one.
const separator = '\x1f'

// foldCase maps texts that differ only in case, in any script, to the same text. It
// replaces each character by the smallest one of its class under Unicode simple case
// folding. It replaces a separator in the text by the preceding code point, so that
// no match spans two texts.
func foldCase(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == separator:
			return separator - 1
		case 'a' <= r && r <= 'z':
			return r - ('a' - 'A')
		case r < 0x80:
			return r
		}
		least := r
		for o := unicode.SimpleFold(r); o != r; o = unicode.SimpleFold(o) {
			least = min(least, o)
		}
		return least
	}, text)
}

// searchText returns the folded text that the search of a list examines.
func searchText(s *abi.Session) string {
	return strings.Join([]string{foldCase(s.Key), foldCase(s.Label), foldCase(s.DisplayName), foldCase(s.Subject)}, string(separator))
}

// containsFolded reports whether the session's search text contains a folded text.
func containsFolded(s *abi.Session, needle string) bool {
	return strings.Contains(searchText(s), needle)
}
