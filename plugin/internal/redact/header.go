package redact

import "strings"

var (
	// Schemes whose credential is one token, and those where it holds a password.
	tokenSchemes  = []string{"bearer", "token", "apikey", "bot", "key", "jwt", "oauth", "ssws"}
	secretSchemes = []string{"basic", "digest"}
)

func isScheme(s string) bool { return foldAny(s, tokenSchemes) || foldAny(s, secretSchemes) }

// splitScheme returns where the credential in the value of a header starts, and
// whether it is a single token. In an authorization header any word may be a
// scheme that is written like one: Negotiate, AWS4-HMAC-SHA256.
func splitScheme(c class, v string) (start int, single bool) {
	i := strings.IndexByte(v, ' ')
	if i <= 0 || i > maxName {
		return 0, false
	}
	if isScheme(v[:i]) {
		return skipSpace(v, i), !fold(v[:i], "digest")
	}
	if c != authorization || !upper(v[0]) {
		return 0, false
	}
	small, digits := false, false
	for j := 0; j < i; j++ {
		small, digits = small || lower(v[j]), digits || digit(v[j])
		if !alnum(v[j]) && v[j] != '-' || small && digits {
			return 0, false
		}
	}
	return skipSpace(v, i), false
}

// headerEnd returns the end of an unquoted authorization header: of the token
// behind its scheme, else of the line, or the quote around it. Parameters have
// quotes of their own.
func headerEnd(text string, v int, spaced bool) int {
	line := min(len(text), v+maxName+maxBlanks)
	start, single := splitScheme(authorization, text[v:line])
	if single {
		return bareEnd(text, v+start, key, len(text))
	}
	word := bareEnd(text, v, key, len(text))
	if first := text[v:word]; first == "" || !alnum(first[0]) || masked(first) || spaced && (prose(authorization, first, text[word:]) || code(text[v:])) {
		return word // no credential that the line could be searched for again and again
	}
	i := v
	for ; i < len(text) && text[i] != '\n' && text[i] != '\r'; i++ {
		if text[i] == '\\' && i+1 < len(text) && (escapeLetter(text[i+1]) || quoteByte(text[i+1])) {
			break
		}
		if !quoteByte(text[i]) {
			continue
		}
		if i == v || text[i-1] != '=' {
			break
		}
		stop := lineStop(text, i)
		n := strings.IndexByte(text[i+1:stop], text[i])
		if n < 0 {
			i = stop
			break
		}
		i += 1 + n
	}
	return trim(text, v, i)
}

// bearer matches what follows the word Bearer: 24 characters of a token, or
// eight with a digit among them. Prose ("the bearer of this") is neither.
func bearer(text string, i int) (Match, bool) {
	if !foldPrefix(text[i:], "bearer") || !boundary(text, i) {
		return Match{}, false
	}
	start := skipSpace(text, i+len("bearer"))
	if start == i+len("bearer") {
		return Match{}, false
	}
	end := start
	for end < len(text) && credentialByte(text[end]) {
		end++
	}
	for end > start && text[end-1] == '.' {
		end--
	}
	v := text[start:end]
	if len(v) < 8 || len(v) < 24 && !hasDigit(v) || wordy(v) {
		return Match{}, false
	}
	return Match{Start: start, End: end}, true
}

// credentialByte reports whether c may stand in the credential of a bearer
// header (RFC 6750).
func credentialByte(c byte) bool {
	return dotted.has(c) || c == '~' || c == '+' || c == '/' || c == '='
}
