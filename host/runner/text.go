package runner

import (
	"cmp"
	"slices"
	"strings"
)

// Text returns the output of a program or endpoint as valid UTF-8.
func Text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// Conceal replaces secrets in a text by [secret]. The errors of runs are shown to the
// callers that requested them, and may contain anything that a runner's program or
// endpoint wrote. Empty secrets are ignored. The caller must not truncate the text
// before: Conceal does not find a part of a secret.
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
