package redact

// fold reports whether s is the lower-case ASCII word.
func fold(s, word string) bool {
	return len(s) == len(word) && foldPrefix(s, word)
}

// foldPrefix reports whether s starts with the lower-case ASCII word.
func foldPrefix(s, word string) bool {
	if len(s) < len(word) {
		return false
	}
	for i := range len(word) {
		c := s[i]
		if upper.has(c) {
			c += 'a' - 'A'
		}
		if c != word[i] {
			return false
		}
	}
	return true
}

// foldSuffix reports whether s ends with the lower-case ASCII word.
func foldSuffix(s, word string) bool {
	return len(s) >= len(word) && foldPrefix(s[len(s)-len(word):], word)
}

// foldAny reports whether s is one of the lower-case ASCII words.
func foldAny(s string, words []string) bool {
	for _, w := range words {
		if fold(s, w) {
			return true
		}
	}
	return false
}
