package policy

import "strings"

// MatchAny reports whether name matches one of the patterns.
func MatchAny(patterns []string, name string) bool { return first(patterns, name) >= 0 }

// first returns the index of the first pattern that name matches, or -1.
func first(patterns []string, name string) int {
	for i, p := range patterns {
		if Match(p, name) {
			return i
		}
	}
	return -1
}

// Match reports whether name is the pattern, in which each * stands for any run of
// characters, and everything else for itself. Each part between two * may be taken
// where it first occurs: whatever else would match, matches then too.
func Match(pattern, name string) bool {
	head, rest, star := strings.Cut(pattern, "*")
	if !star {
		return name == pattern
	}
	name, ok := strings.CutPrefix(name, head)
	for ok {
		part, next, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(name, part)
		}
		_, name, ok = strings.Cut(name, part)
		rest = next
	}
	return false
}
