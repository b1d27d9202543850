package redact

import "strings"

// How far an assignment looks around its operator.
const (
	maxBlanks  = 8
	maxEscapes = 16  // a quote in JSON in JSON in JSON in JSON has 15
	maxGuess   = 256 // a value that only its looks can tell is not longer
	maxType    = 64  // of a declaration
)

// Operators in full width.
const (
	wide       = '\xef' // their first byte
	wideColon  = "\uff1a"
	wideEquals = "\uff1d"
)

// colon matches the credential of a URL, a bot token or a value around the colon
// at text[i].
func colon(text string, i int) Match {
	if strings.HasPrefix(text[i:], "://") {
		return url(text, i)
	}
	if digit.at(text, i-1) {
		if m := telegram(text, i); m.found() {
			return m
		}
	}
	return assignment(text, i)
}

// label is what stands before an operator.
type label struct {
	name   string
	start  int
	class  class
	tight  bool // no blank before the operator
	quoted bool
	index  bool // user[password], without quotes
}

// assignment matches the value behind the operator at text[i], which is = or :,
// maybe in full width.
func assignment(text string, i int) Match {
	v, op := i+1, text[i]
	switch {
	case op == wide:
		v = i + len(wideColon)
		switch text[i:min(v, len(text))] {
		case wideColon:
			op = ':'
		case wideEquals:
			op = '='
		default:
			return Match{}
		}
	case op == ':' && (v < len(text) && text[v] == ':' || i > 0 && text[i-1] == ':'):
		return Match{}
	case op == '=' && i > 0 && (text[i-1] == '=' || text[i-1] == '!' || text[i-1] == ':' || angle.has(text[i-1])):
		return Match{} // the second half of another operator, which was seen already or is no assignment
	}
	l := labelBefore(text, i)
	snug := l.tight && v < len(text) && !blank.has(text[v])
	equal := l.tight && op == '='
	switch {
	case l.class == nothing,
		l.class == capitals && !l.quoted && !equal,
		l.class == terse && !l.quoted && !equal && !snug,
		l.index && !snug: // m[token] = value
		return Match{}
	}
	for n := 0; n < 2 && v < len(text) && (text[v] == '=' || text[v] == '>'); n++ {
		v++
	}
	if op == ':' {
		v = behindType(text, v)
	}
	return l.value(text, v, op)
}

// labelBefore returns the name that ends before text[i], less quotes, emphasis
// and blanks between.
func labelBefore(text string, i int) (l label) {
	if letter.at(text, i-1) && !mayEndName(text, i) {
		return l
	}
	end := blank.back(text, i, maxBlanks)
	l.tight = end == i
	for n := 0; n < 2 && end > 0 && text[end-1] == '*'; n++ {
		end-- // **Password**:
	}
	if l.index = end > 1 && text[end-1] == ']'; l.index {
		end--
	}
	if l.quoted = quote.at(text, end-1); l.quoted {
		l.index = false
		end = backslash.back(text, end-1, maxEscapes)
	}
	if !mayEndName(text, end) {
		return label{}
	}
	start := dotted.back(text, end, maxName)
	if strings.HasSuffix(text[:start], ellipsis) {
		return label{} // the tail of a mask
	}
	l.named(text, start, end)
	if l.class == nothing && escapeLetter.has(text[start]) && start > 0 && text[start-1] == '\\' {
		l.named(text, start+1, end) // the escape was left undecoded
	}
	if !l.quoted && (fold(l.name, "key") || fold(l.name, "keys")) && l.start > 0 && text[l.start-1] == ' ' {
		// "API key: …" is one name of two words.
		from := dotted.back(text, l.start-1, maxName)
		if prev, _ := lastWord(text[from : l.start-1]); foldAny(prev, lockKeys) {
			l.named(text, from, end)
		}
	}
	return l
}

func (l *label) named(text string, start, end int) {
	l.start, l.name = start, text[start:end]
	l.class = classify(l.name)
}

// behindType returns the index behind the type and the = of a declaration, as in
// password: string = "…", or v when there is none.
func behindType(text string, v int) int {
	i := (letter | space | typeMark).spanMax(text, v, maxType)
	if i == v || i == v+maxType || i+1 >= len(text) || text[i] != '=' {
		return v
	}
	if _, _, quoted := opening(text, skipSpace(text, i+1)); !quoted {
		return v
	}
	return i + 1
}

// environment reports whether the label begins a line of shell or of an
// environment file, where a value ends at nothing but a blank.
func (l label) environment(text string) bool {
	return l.tight && l.class >= key && capital.all(l.name) &&
		(l.start == 0 || text[l.start-1] == '\n' || strings.HasSuffix(text[:l.start], "export "))
}
