package redact

// boundary reports whether a word can start at i: not within a word, unless what
// precedes is an escape like \n that was left undecoded.
func boundary(text string, i int) bool {
	if i == 0 || !word(text[i-1]) {
		return true
	}
	return i > 1 && text[i-2] == '\\' && escapeLetter(text[i-1])
}

func escapeLetter(c byte) bool { return c == 'n' || c == 'r' || c == 't' }

func word(c byte) bool { return alnum(c) || c == '_' }

func alnum(c byte) bool { return lower(c) || upper(c) || digit(c) }

func lower(c byte) bool { return c >= 'a' && c <= 'z' }

func upper(c byte) bool { return c >= 'A' && c <= 'Z' }

func digit(c byte) bool { return c >= '0' && c <= '9' }

func ascii(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// fold reports whether s is the lower-case ASCII word.
func fold(s, word string) bool {
	return len(s) == len(word) && foldPrefix(s, word)
}

// foldPrefix reports whether s starts with the lower-case ASCII word.
func foldPrefix(s, word string) bool {
	if len(s) < len(word) {
		return false
	}
	for i := 0; i < len(word); i++ {
		c := s[i]
		if upper(c) {
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

func hexDigit(c byte) bool { return digit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }

func blank(c byte) bool { return c == ' ' || c == '\t' }

func quoteByte(c byte) bool { return c == '"' || c == '\'' || c == '`' }

// skipSpace returns the index behind the blanks at i; there may be a few.
func skipSpace(text string, i int) int {
	for n := 0; n < maxBlanks && i < len(text) && blank(text[i]); n++ {
		i++
	}
	return i
}

// lineStop returns the index of the line's end at or behind i.
func lineStop(text string, i int) int {
	for i < len(text) && text[i] != '\n' && text[i] != '\r' {
		i++
	}
	return i
}
