package redact

import "strings"

// value matches the value that is assigned to the label. The search starts at text[v],
// after the operator op.
func (l label) value(text string, v int, op byte) Match {
	from := v
	v = skipSpace(text, v)
	if v == from && op == ':' {
		v = skipSpace(text, afterEmphasis(text, v))
	}
	c := assigned{name: l.name, class: l.class, spaced: v > from}
	below := false
	if op == ':' {
		first, block := nextLine(text, v)
		if block {
			return c.block(text, first)
		}
		if below = first > v; below {
			v, c.spaced = first, true
		}
	}
	limit := len(text)
	if l.class == maybe || l.class == credential || l.class == capitals {
		limit = min(limit, v+maxGuess)
	}
	end := -1
	if inner, escapes, quoted := opening(text, v); quoted {
		v, c.quoted = inner, true
		end = closing(text, v, text[v-1], escapes, limit)
	} else {
		switch rest := text[v:]; {
		case opensReference(rest), opensMask(rest):
			return Match{}
		case l.class == authorization:
			end = headerEnd(text, v, c.spaced)
		case op == '=' && l.environment(text):
			end = environmentEnd(text, v)
		default:
			end = bareEnd(text, v, l.class, limit)
			if c.spaced && !below && end > v && phrased(l.name) {
				end = max(end, phraseEnd(text, v))
			}
		}
	}
	if end < 0 || below && !scalar(text, v, end) {
		return Match{}
	}
	c.value, c.rest = text[v:end], text[end:]
	return credentialIn(c).shift(v)
}

// opening returns the index after the quote that opens a string at v, and the number of
// backslashes before that quote. It skips the prefixes of string literals (b"", f"", @"",
// ("")).
func opening(text string, v int) (inner, escapes int, quoted bool) {
	i := v
	for i < len(text) && i-v < 3 && strings.IndexByte("bBfFrRuU@$#(", text[i]) >= 0 {
		i++
	}
	at := backslash.spanMax(text, i, maxEscapes)
	if !quote.at(text, at) {
		return v, 0, false
	}
	if at == i && i+2 < len(text) && text[i+1] == text[i] && text[i+2] == text[i] {
		return i + 3, 0, true // """
	}
	return at + 1, at - i, true
}

// closing returns the index of the quote that ends the string whose text starts at v, or of
// the backslashes before that quote. It returns the end of the line if there is no such quote,
// and -1 if it reaches limit before the end of the text.
func closing(text string, v int, quote byte, escapes, limit int) int {
	for i := v; i < limit; i++ {
		switch text[i] {
		case quote:
			return i
		case '\\':
			n := 1
			for i+n < limit && text[i+n] == '\\' {
				n++
			}
			if escapes > 0 && n <= escapes && i+n < limit && text[i+n] == quote {
				return i
			}
			if escapes == 0 || i+n < limit && text[i+n] == quote {
				n += n % 2 // an odd number escapes the next character
			}
			i += n - 1
		case '\n', '\r':
			return i
		}
	}
	if limit < len(text) {
		return -1
	}
	return limit
}

// bareEnd returns the end of an unquoted value, or -1 if it reaches limit before the end of
// the text.
func bareEnd(text string, v int, c class, limit int) int {
	outside := control | space | quote | backslash | amp | angle
	if c != password {
		outside |= comma | semicolon | bracket | bar
	}
	i := v
	if i < limit && text[i] == '<' {
		i++
	}
	i = outside.until(text[:limit], i)
	if i == limit && limit < len(text) {
		return -1
	}
	return trim(text, v, i)
}

// environmentEnd returns the end of a value in an environment file.
func environmentEnd(text string, v int) int {
	i := v
	for i < len(text) && text[i] > ' ' && !escape(text, i) {
		i++
	}
	i = trim(text, v, i)
	for i > v && quote.has(text[i-1]) {
		i = trim(text, v, i-1)
	}
	return i
}

// phraseEnd returns the end of a passphrase of several words. The passphrase is the rest of
// the line; phraseEnd returns v if that reads like a sentence.
func phraseEnd(text string, v int) int {
	for i := v; i < len(text) && i-v < maxGuess; i++ {
		start := i
		i = dashed.spanMax(text, i, maxName)
		if i == start || start > v && foldAny(text[start:i], functionWords) {
			return v
		}
		if i == len(text) || (eol | quote | backslash).has(text[i]) {
			return i
		}
		if text[i] != ' ' {
			return v
		}
	}
	return v
}

// trim returns the end of a value without the punctuation that belongs to the text around
// it.
func trim(text string, v, end int) int {
	return (comma | semicolon | bracket | dot | blank).back(text, end, end-v)
}

// afterEmphasis returns the index after closing emphasis, as in **Password:**.
func afterEmphasis(text string, v int) int {
	n := 0
	for v+n < len(text) && (text[v+n] == '*' || text[v+n] == '_') {
		n++
	}
	if n > 2 || !space.at(text, v+n) {
		return v
	}
	return v + n
}
