package redact

import "strings"

// Bounds of the search around the operator of an assignment.
const (
	maxBlanks  = 8
	maxEscapes = 16  // a quote in four nested JSON strings follows 15 backslashes
	maxGuess   = 256 // length of the longest value that is recognized only by its appearance
	maxType    = 64  // length of the type in a declaration
)

// Full-width operators.
const (
	wide       = '\xef' // their first byte
	wideColon  = "\uff1a"
	wideEquals = "\uff1d"
)

// colon matches the credential of a URL, a bot token or an assigned value around the colon
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

// label is the name before an operator.
type label struct {
	name   string
	start  int
	class  class
	tight  bool // no blank before the operator
	quoted bool
	index  bool // user[password], without quotes
}

// assignment matches the value after the operator at text[i], which is = or : or its
// full-width form.
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
		return Match{} // part of an operator that was handled before, or that does not assign
	}
	l := labelBefore(text, i)
	unspaced := l.tight && v < len(text) && !blank.has(text[v])
	equal := l.tight && op == '='
	switch {
	case l.class == nothing,
		l.class == capitals && !l.quoted && !equal,
		l.class == terse && !l.quoted && !equal && !unspaced,
		l.index && !unspaced: // m[token] = value
		return Match{}
	}
	for n := 0; n < 2 && v < len(text) && (text[v] == '=' || text[v] == '>'); n++ {
		v++
	}
	if op == ':' {
		v = afterType(text, v)
	}
	return l.value(text, v, op)
}

// labelBefore returns the last name before text[i]. Quotes, emphasis and blanks may separate
// the name from text[i].
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
		return label{} // the end of a mask
	}
	l.named(text, start, end)
	if l.class == nothing && escapeLetter.has(text[start]) && start > 0 && text[start-1] == '\\' {
		l.named(text, start+1, end) // the name follows an undecoded escape
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

// afterType returns the index after the type and the = of a declaration such as
// password: string = "…". It returns v if text[v:] does not begin with a type.
func afterType(text string, v int) int {
	i := (letter | space | typeMark).spanMax(text, v, maxType)
	if i == v || i == v+maxType || i+1 >= len(text) || text[i] != '=' {
		return v
	}
	if _, _, quoted := opening(text, skipSpace(text, i+1)); !quoted {
		return v
	}
	return i + 1
}

// environment reports whether the label begins a line of a shell script or an environment
// file, where only a blank ends a value.
func (l label) environment(text string) bool {
	return l.tight && l.class >= key && capital.all(l.name) &&
		(l.start == 0 || text[l.start-1] == '\n' || strings.HasSuffix(text[:l.start], "export "))
}
