package redact

import "strings"

// value matches what is assigned to the label at text[v:], behind the operator.
func (l label) value(text string, v int, op byte) (Match, bool) {
	from := v
	v = skipSpace(text, v)
	if v == from && op == ':' {
		v = skipSpace(text, behindEmphasis(text, v))
	}
	c := candidate{name: l.name, class: l.class, spaced: v > from}
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
			return Match{}, false
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
		return Match{}, false
	}
	c.value, c.rest = text[v:end], text[end:]
	m, ok := judge(c)
	return m.at(v), ok
}

// opening returns the index behind the quote that opens a string at v, behind
// the marks that languages put before it (b"", f"", @"", ("")).
func opening(text string, v int) (inner, escapes int, quoted bool) {
	i := v
	for i < len(text) && i-v < 3 && strings.IndexByte("bBfFrRuU@$#(", text[i]) >= 0 {
		i++
	}
	for escapes < maxEscapes && i+escapes < len(text) && text[i+escapes] == '\\' {
		escapes++
	}
	i += escapes
	if i >= len(text) || !quoteByte(text[i]) {
		return v, 0, false
	}
	if escapes == 0 && i+2 < len(text) && text[i+1] == text[i] && text[i+2] == text[i] {
		i += 2 // """
	}
	return i + 1, escapes, true
}

// closing returns the index of the quote that ends the text from v on, or of the
// backslashes that belong to it; the end of the line when there is none; -1 when
// the search was given up.
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
				n += n % 2 // an odd one takes the next character with it
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

// bareEnd returns the end of an unquoted value, -1 when the search was given up.
func bareEnd(text string, v int, c class, limit int) int {
	i := v
	for ; i < limit; i++ {
		b := text[i]
		if b <= ' ' || quoteByte(b) || b == '\\' || b == '&' || b == '<' && i > v || b == '>' {
			break
		}
		if c != password && (b == ',' || b == ';' || b == ')' || b == ']' || b == '}' || b == '|') {
			break
		}
		if b == ' ' && i == v {
			break
		}
	}
	if i == limit && limit < len(text) {
		return -1
	}
	return trim(text, v, i)
}

// environmentEnd returns the end of a value in an environment file.
func environmentEnd(text string, v int) int {
	i := v
	for i < len(text) && text[i] > ' ' && !(text[i] == '\\' && i+1 < len(text) && (escapeLetter(text[i+1]) || quoteByte(text[i+1]))) {
		i++
	}
	i = trim(text, v, i)
	for i > v && quoteByte(text[i-1]) {
		i = trim(text, v, i-1)
	}
	return i
}

// phraseEnd returns the end of a passphrase of several words, which takes the
// rest of the line and reads as no sentence, or v.
func phraseEnd(text string, v int) int {
	i, words := v, 0
	for i < len(text) && i-v < maxGuess {
		start := i
		for i < len(text) && i-start < maxName && (alnum(text[i]) || text[i] == '-' || text[i] == '_') {
			i++
		}
		if i == start || words > 0 && foldAny(text[start:i], functionWords) {
			return v
		}
		words++
		if i == len(text) || text[i] == '\n' || text[i] == '\r' || quoteByte(text[i]) || text[i] == '\\' {
			return i
		}
		if text[i] != ' ' {
			return v
		}
		i++
	}
	return v
}

// trim takes marks off the end of a value that belong to what surrounds it.
func trim(text string, v, end int) int {
	for end > v && strings.IndexByte(",;)]}. \t", text[end-1]) >= 0 {
		end--
	}
	return end
}

// behindEmphasis returns the index behind the marks that end **Password:**.
func behindEmphasis(text string, v int) int {
	n := 0
	for v+n < len(text) && (text[v+n] == '*' || text[v+n] == '_') {
		n++
	}
	if n > 2 || v+n >= len(text) || text[v+n] != ' ' {
		return v
	}
	return v + n
}
