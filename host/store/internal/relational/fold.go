package relational

import (
	"strings"
	"unicode"

	"github.com/parley-wasm/parley/abi"
)

// separator stands between the texts that are searched as one.
const separator = '\x1f'

// fold maps texts that differ only in the case of letters, of any script, to one
// text, character by character: the smallest of the characters that Unicode's
// simple folding holds equal. A separator within a text becomes its neighbour,
// so that no match reaches over the end of a text.
func fold(text string) string {
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

// searchText returns what the search of a list looks through.
func searchText(s *abi.Session) string {
	return strings.Join([]string{fold(s.Key), fold(s.Label), fold(s.DisplayName), fold(s.Subject)}, string(separator))
}

// containsFolded reports whether a folded text occurs in what the search looks
// through.
func containsFolded(s *abi.Session, needle string) bool {
	return strings.Contains(searchText(s), needle)
}
