package policy_test

import (
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi/policy"
)

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		pattern string
		yes, no []string
	}{
		{"abc", []string{"abc"}, []string{"ab", "abcd", "xabc", "ABC"}},
		{"*", []string{"a", "a/b", "é", "*"}, nil},
		{"**", []string{"", "a"}, nil},
		{"", []string{""}, []string{"a"}},
		{"a*", []string{"a", "ab"}, []string{"b", "ba"}},
		{"*a", []string{"a", "ba", "aa"}, []string{"b", "ab"}},
		{"a*b", []string{"ab", "axb", "abb", "abxb"}, []string{"a", "b", "ba", "abx"}},
		{"ab*ba", []string{"abba", "abxba"}, []string{"aba", "ab"}},
		{"*ab*", []string{"ab", "xab", "abx", "xaby"}, []string{"a", "ba", "axb"}},
		{"a*b*c", []string{"abc", "aXbYc", "abbcc", "abcbc"}, []string{"acb", "ab", "ac", "abcx"}},
		{"*ab*ab*", []string{"abab", "xabyabz"}, []string{"ab", "aab", "abb"}},
		{"a*aab", []string{"aaab", "aaaab"}, []string{"aab", "ab"}},
		{"[a-c]", []string{"[a-c]"}, []string{"b"}},
		{"?", []string{"?"}, []string{"a"}},
		{strings.Repeat("*a", 30) + "b", nil, []string{strings.Repeat("a", 64)}},
		{`a\*`, []string{`a\`, `a\b`}, []string{"a*", "a"}},
	} {
		for _, name := range tt.yes {
			if !policy.Match(tt.pattern, name) {
				t.Errorf("%s does not match %s", tt.pattern, name)
			}
		}
		for _, name := range tt.no {
			if policy.Match(tt.pattern, name) {
				t.Errorf("%s matches %s", tt.pattern, name)
			}
		}
	}
}
