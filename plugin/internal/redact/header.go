package redact

import "strings"

// Schemes whose credential is a single token, and those whose credential contains a
// password.
var (
	tokenSchemes  = []string{"bearer", "token", "apikey", "bot", "key", "jwt", "oauth", "ssws"}
	secretSchemes = []string{"basic", "digest"}
)

// splitScheme returns the index of the credential in the value of a header, whether it is a
// single token, and whether it may contain a password. In an authorization header, any
// word with the form of a scheme counts as a scheme: Negotiate, AWS4-HMAC-SHA256.
func splitScheme(c class, v string) (start int, single, secret bool) {
	i := strings.IndexByte(v, ' ')
	if i <= 0 || i > maxName {
		return 0, false, false
	}
	switch s := v[:i]; {
	case foldAny(s, tokenSchemes):
		return skipSpace(v, i), true, false
	case foldAny(s, secretSchemes):
		return skipSpace(v, i), !fold(s, "digest"), true
	case c == authorization && upper.has(s[0]) && (alnum | hyphen).all(s) && !(lower.in(s) && digit.in(s)):
		return skipSpace(v, i), false, true
	}
	return 0, false, false
}

// headerEnd returns the end of an unquoted authorization header: the end of the token after
// its scheme, else the end of the line, or the quote around the header. Parameters in the
// header may have quotes of their own.
func headerEnd(text string, v int, spaced bool) int {
	line := min(len(text), v+maxName+maxBlanks)
	start, single, _ := splitScheme(authorization, text[v:line])
	if single {
		return bareEnd(text, v+start, key, len(text))
	}
	word := bareEnd(text, v, key, len(text))
	if first := text[v:word]; first == "" || !alnum.has(first[0]) || masked(first) || spaced && (prose(authorization, first, text[word:]) || code(text[v:])) {
		return word // not a credential; stopping here keeps the time linear
	}
	i := v
	for ; i < len(text) && !eol.has(text[i]) && !escape(text, i); i++ {
		if !quote.has(text[i]) {
			continue
		}
		if i == v || text[i-1] != '=' {
			break
		}
		stop := eol.until(text, i)
		n := strings.IndexByte(text[i+1:stop], text[i])
		if n < 0 {
			i = stop
			break
		}
		i += 1 + n
	}
	return trim(text, v, i)
}

// bearer matches the token after the word Bearer: at least 24 characters, or at least eight
// with a digit among them. This excludes prose ("the bearer of this").
func bearer(text string, i int) Match {
	if !foldPrefix(text[i:], "bearer") || !boundary(text, i) {
		return Match{}
	}
	start := skipSpace(text, i+len("bearer"))
	if start == i+len("bearer") {
		return Match{}
	}
	end := b64token.span(text, start)
	end = dot.back(text, end, end-start)
	if v := text[start:end]; len(v) < 8 || len(v) < 24 && !digit.in(v) || wordy(v) {
		return Match{}
	}
	return Match{Start: start, End: end}
}
