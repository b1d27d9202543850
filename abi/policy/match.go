package policy

import "strings"

// MatchAny reports whether name matches one of the patterns.
func MatchAny(patterns []string, name string) bool { return firstMatch(patterns, name) >= 0 }

// firstMatch returns the index of the first pattern that name matches, or -1.
func firstMatch(patterns []string, name string) int {
	for i, p := range patterns {
		if Match(p, name) {
			return i
		}
	}
	return -1
}

// Match reports whether name matches the pattern, in which each * matches any sequence
// of characters and every other character matches itself. Each part between two * is
// matched at its first occurrence, which is sufficient: if a later occurrence leads to
// a match, the first one does too.
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
