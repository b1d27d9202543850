package redact

// How far an assignment looks around its operator.
const (
	maxBlanks  = 8
	maxEscapes = 4
	maxGuess   = 256 // a value that only its looks can tell is not longer
)

// assignment matches the value behind the operator at text[i], which is = or :.
func assignment(text string, i int) (Match, bool) {
	next := byte(0)
	if i+1 < len(text) {
		next = text[i+1]
	}
	if text[i] == ':' {
		switch {
		case next == '/' && i+2 < len(text) && text[i+2] == '/':
			return userinfo(text, i)
		case next == ':' || i > 0 && text[i-1] == ':':
			return Match{}, false
		}
		if i > 0 && digit(text[i-1]) {
			if m, ok := telegram(text, i); ok {
				return m, true
			}
		}
	} else if i > 0 && (text[i-1] == '=' || text[i-1] == '!' || text[i-1] == ':' || text[i-1] == '<' || text[i-1] == '>') {
		return Match{}, false // the second half of another operator, which was seen already or is no assignment
	}
	name, tight := nameBefore(text, i)
	if name == "" {
		return Match{}, false
	}
	c := classify(name)
	if c == nothing || c == capitals && !(tight && text[i] == '=') && !quoteByte(text[i-1]) {
		return Match{}, false
	}
	v := i + 1
	for n := 0; v < len(text) && n < 2 && (text[v] == '=' || text[v] == '>'); n++ {
		v++
	}
	return value(text, v, c, name)
}

// nameBefore returns the name that ends before text[i], less quotes and blanks
// between, and whether it ends right there.
func nameBefore(text string, i int) (name string, tight bool) {
	end := i
	for end > 0 && i-end < maxBlanks && (text[end-1] == ' ' || text[end-1] == '\t') {
		end--
	}
	tight = end == i
	if end > 1 && text[end-1] == ']' && quoteByte(text[end-2]) {
		end--
	}
	quoted := end > 0 && quoteByte(text[end-1])
	if quoted {
		end--
		for n := 0; n < maxEscapes && end > 0 && text[end-1] == '\\'; n++ {
			end--
		}
	}
	if !mayEndName(text, end) {
		return "", false
	}
	start := nameStart(text, end)
	if start >= len(ellipsis) && text[start-len(ellipsis):start] == ellipsis {
		return "", false // the tail of a mask
	}
	name = text[start:end]
	if start > 0 && text[start-1] == '\\' && escapeLetter(name[0]) && classify(name) == nothing {
		name = name[1:] // the escape was left undecoded
	}
	if !quoted && fold(name, "key") && start > 0 && text[start-1] == ' ' {
		// "API key: …" is one name of two words.
		if from := nameStart(text, start-1); from < start-1 {
			if prev, _ := lastWord(text[from : start-1]); foldAny(prev, lockKeys) {
				name = text[from:end]
			}
		}
	}
	return name, tight
}

// mayEndName reports whether a name that classify knows can end before
// text[end], by its last two letters: most words before a colon are none.
func mayEndName(text string, end int) bool {
	if end < 3 || !dotted.has(text[end-1]) {
		return false
	}
	if !lower(text[end-1] | 0x20) {
		return true // digits and marks at the end of a name do not count
	}
	switch uint16(text[end-2]|0x20)<<8 | uint16(text[end-1]|0x20) {
	case 'e'<<8 | 'y', 'e'<<8 | 'n', 'e'<<8 | 't', 'r'<<8 | 'd', 'w'<<8 | 'd', 's'<<8 | 'e', 'd'<<8 | 'e', 's'<<8 | 's',
		'o'<<8 | 'n', 't'<<8 | 'h', 'a'<<8 | 'l', 'l'<<8 | 's', 'u'<<8 | 'e', 'a'<<8 | 'w':
		return true // key token secret password passwd-pwd passphrase-base passcode pass authorization auth credential(s) value raw
	}
	return false
}

func nameStart(text string, end int) int {
	start := end
	for start > 0 && end-start < maxName && dotted.has(text[start-1]) {
		start--
	}
	return start
}

// flag matches the value of a command-line flag --name that starts at i.
func flag(text string, i int) (Match, bool) {
	from := i + len("--")
	end := run(text, from, dashed, maxName)
	if end == from || end >= len(text) || text[end] != ' ' {
		return Match{}, false
	}
	c := classify(text[from:end])
	v := skipSpace(text, end)
	if c < key || v < len(text) && text[v] == '-' {
		return Match{}, false
	}
	return value(text, v, c, text[from:end])
}

// value matches what is assigned at text[v:], behind the operator.
func value(text string, v int, c class, name string) (Match, bool) {
	from := v
	v = skipSpace(text, v)
	spaced := v > from
	escapes := 0
	for escapes < maxEscapes && v+escapes < len(text) && text[v+escapes] == '\\' {
		escapes++
	}
	var end int
	quoted := v+escapes < len(text) && quoteByte(text[v+escapes])
	if quoted {
		v += escapes + 1
		end = closing(text, v, text[v-1], escapes, limit(text, v, c))
	} else {
		end = bareEnd(text, v, c, limit(text, v, c))
	}
	if end < 0 {
		return Match{}, false
	}
	start, stop, ok := judge(c, name, text[v:end], quoted, spaced)
	if !ok {
		return Match{}, false
	}
	return Match{Start: v + start, End: v + stop}, true
}

// limit returns the index at which the search for a value's end is given up.
func limit(text string, v int, c class) int {
	if c == maybe || c == capitals {
		return min(len(text), v+maxGuess)
	}
	return len(text)
}

// closing returns the index of the quote that ends the text from v on, or of the
// backslashes that belong to it; the end of the line when there is none; -1 when
// the search was given up.
func closing(text string, v int, quote byte, escapes, limit int) int {
	for i := v; i < limit; i++ {
		switch text[i] {
		case quote:
			if escapes == 0 {
				return i
			}
		case '\\':
			n := 1
			for i+n < limit && text[i+n] == '\\' {
				n++
			}
			if escapes > 0 && n <= escapes && i+n < limit && text[i+n] == quote {
				return i
			}
			if escapes == 0 {
				n = n + n%2 // an odd one takes the next character with it
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
	scheme := c == authorization
	for ; i < limit; i++ {
		b := text[i]
		if b == ' ' && scheme && isScheme(text[v:i]) {
			scheme = false
			i = skipSpace(text, i) - 1
			continue
		}
		if b <= ' ' || quoteByte(b) || b == '\\' || b == '&' || b == '<' && i > v || b == '>' {
			break
		}
		if c != password && (b == ',' || b == ';' || b == ')' || b == ']' || b == '}' || b == '|') {
			break
		}
	}
	if i == limit && limit < len(text) {
		return -1
	}
	for i > v && trailing(text[i-1]) {
		i--
	}
	return i
}

func trailing(c byte) bool {
	return c == ',' || c == ';' || c == ')' || c == ']' || c == '}' || c == '.'
}

func skipSpace(text string, i int) int {
	for n := 0; n < maxBlanks && i < len(text) && (text[i] == ' ' || text[i] == '\t'); n++ {
		i++
	}
	return i
}

func quoteByte(c byte) bool { return c == '"' || c == '\'' || c == '`' }
