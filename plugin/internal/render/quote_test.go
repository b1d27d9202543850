package render

import (
	"strings"
	"testing"
)

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		"":                         `""`,
		"main":                     `"main"`,
		"a\nb\x00\"c\x7f":          `"a?b??c?"`,
		"é\xff\u202e\u2028":        `"é???"`,
		strings.Repeat("é", 80):    `"` + strings.Repeat("é", 80) + `"`,
		strings.Repeat("é", 81):    `"` + strings.Repeat("é", 80) + `…"`,
		strings.Repeat("x", 10000): `"` + strings.Repeat("x", 80) + `…"`,
	} {
		if got := Quote(in); got != want {
			t.Errorf("Quote(%q) = %s; want %s", in, got, want)
		}
	}
}
