package relational

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/parley-wasm/parley/abi"
)

func FuzzFold(f *testing.F) {
	for _, s := range [][2]string{{"Straße", "SS"}, {"ſ", "S"}, {"\u212a", "k"}, {"ΣΊΣΥΦΟΣ", "ς"}, {"İ", "i"}, {"a\x1fb", "a\x1eb"}, {"", ""}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, text, part string) {
		if !utf8.ValidString(text) || !utf8.ValidString(part) {
			return // texts of requests and sessions are valid UTF-8
		}
		neighbor := strings.NewReplacer("\x1f", "\x1e") // \x1f is the separator
		want := regexp.MustCompile("(?i)" + regexp.QuoteMeta(neighbor.Replace(part))).MatchString(neighbor.Replace(text))
		if got := containsFolded(&abi.Session{Label: text}, foldCase(part)); got != want {
			t.Errorf("%q in %q: %v; want %v", part, text, got, want)
		}
	})
}

func FuzzMatch(f *testing.F) {
	for _, s := range [][2]string{{"*", ""}, {"a*", "a"}, {"*a", "ba"}, {"a*b*c", "axbxc"}, {"a*b*c", "abc"}, {"a*a", "a"}, {"**", "x"}, {"", ""}, {"", "x"}, {"*ab*ab", "ab"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if !utf8.ValidString(pattern) || !utf8.ValidString(text) {
			return // patterns and ids are valid UTF-8
		}
		want := regexp.MustCompile("(?s)^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + "$").MatchString(text)
		if got := match(pattern, text); got != want {
			t.Errorf("%q against %q: %v; want %v", text, pattern, got, want)
		}
	})
}
