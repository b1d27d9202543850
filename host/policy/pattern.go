package policy

import "strings"

// match reports whether name is the pattern, in which each * stands for any run of
// characters, and everything else for itself. Each part between two * may be taken
// where it first occurs: whatever else would match, matches then too.
func match(pattern, name string) bool {
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
