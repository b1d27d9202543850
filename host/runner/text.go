package runner

import (
	"cmp"
	"slices"
	"strings"
)

// Text returns what a program or an endpoint said as valid UTF-8.
func Text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// Conceal shows secrets in a text as [secret]. Failures of runs are read by those
// who asked for them, and what fails may say anything. Empty secrets are none. It
// is for whole texts: one that was cut may show a part.
func Conceal(text string, secrets ...string) string {
	longestFirst := slices.SortedFunc(slices.Values(secrets), func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	var pairs []string
	for _, s := range longestFirst {
		if s != "" {
			pairs = append(pairs, s, "[secret]")
		}
	}
	return strings.NewReplacer(pairs...).Replace(text)
}
