package visibility

// matchAny reports whether id matches one of the patterns.
func matchAny(patterns []string, id string) bool {
	for _, p := range patterns {
		if match(p, id) {
			return true
		}
	}
	return false
}

// match reports whether id is the pattern, in which each * stands for any run of
// characters. It goes back at most to the last *, so its time is bounded by the
// product of the two lengths.
func match(pattern, id string) bool {
	p, i := 0, 0
	star, from := -1, 0
	for i < len(id) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, i
			p++
		case p < len(pattern) && pattern[p] == id[i]:
			p++
			i++
		case star >= 0:
			from++
			p, i = star+1, from
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}
