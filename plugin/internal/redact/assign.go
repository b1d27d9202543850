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
func assignment(text string, i int) (Match, bool) {
	v, op := i+1, text[i]
	switch {
	case op == wide:
		if op = ':'; strings.HasPrefix(text[i:], wideEquals) {
			op = '='
		} else if !strings.HasPrefix(text[i:], wideColon) {
			return Match{}, false
		}
		v = i + len(wideColon)
	case op == ':':
		switch {
		case strings.HasPrefix(text[v:], "//"):
			return url(text, i)
		case v < len(text) && text[v] == ':' || i > 0 && text[i-1] == ':':
			return Match{}, false
		}
		if i > 0 && digit(text[i-1]) {
			if m, ok := telegram(text, i); ok {
				return m, true
			}
		}
	case i > 0 && (text[i-1] == '=' || text[i-1] == '!' || text[i-1] == ':' || text[i-1] == '<' || text[i-1] == '>'):
		return Match{}, false // the second half of another operator, which was seen already or is no assignment
	}
	l := labelBefore(text, i)
	snug := l.tight && v < len(text) && !blank(text[v])
	switch l.class {
	case nothing:
		return Match{}, false
	case capitals:
		if !l.quoted && !(l.tight && op == '=') {
			return Match{}, false
		}
	case terse:
		if !l.quoted && !snug && !(l.tight && op == '=') {
			return Match{}, false
		}
	}
	if l.index && !snug {
		return Match{}, false // m[token] = value
	}
	for n := 0; v < len(text) && n < 2 && (text[v] == '=' || text[v] == '>'); n++ {
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
	end := i
	for end > 0 && i-end < maxBlanks && blank(text[end-1]) {
		end--
	}
	l.tight = end == i
	for n := 0; n < 2 && end > 0 && text[end-1] == '*'; n++ {
		end-- // **Password**:
	}
	if l.index = end > 1 && text[end-1] == ']'; l.index {
		end--
	}
	if l.quoted = end > 0 && quoteByte(text[end-1]); l.quoted {
		l.index = false
		end--
		for n := 0; n < maxEscapes && end > 0 && text[end-1] == '\\'; n++ {
			end--
		}
	}
	if !mayEndName(text, end) {
		return label{}
	}
	l.start = nameStart(text, end)
	if l.start >= len(ellipsis) && text[l.start-len(ellipsis):l.start] == ellipsis {
		return label{} // the tail of a mask
	}
	l.name = text[l.start:end]
	l.class = classify(l.name)
	if l.class == nothing && l.start > 0 && text[l.start-1] == '\\' && escapeLetter(l.name[0]) {
		l.start++ // the escape was left undecoded
		l.name = l.name[1:]
		l.class = classify(l.name)
	}
	if !l.quoted && (fold(l.name, "key") || fold(l.name, "keys")) && l.start > 0 && text[l.start-1] == ' ' {
		// "API key: …" is one name of two words.
		if from := nameStart(text, l.start-1); from < l.start-1 {
			if prev, _ := lastWord(text[from : l.start-1]); foldAny(prev, lockKeys) {
				l.name, l.start = text[from:end], from
				l.class = classify(l.name)
			}
		}
	}
	return l
}

func nameStart(text string, end int) int {
	start := end
	for start > 0 && end-start < maxName && dotted.has(text[start-1]) {
		start--
	}
	return start
}

// behindType returns the index behind the type and the = of a declaration, as in
// password: string = "…", or v when there is none.
func behindType(text string, v int) int {
	for i := v; i < len(text) && i-v < maxType; i++ {
		switch c := text[i]; {
		case c == '=' && i > v && i+1 < len(text):
			if _, _, quoted := opening(text, skipSpace(text, i+1)); quoted {
				return i + 1
			}
			return v
		case lower(c), upper(c), strings.IndexByte(" _.<>[]|&?", c) >= 0:
		default:
			return v
		}
	}
	return v
}

// environment reports whether the label begins a line of shell or of an
// environment file, where a value ends at nothing but a blank.
func (l label) environment(text string) bool {
	return l.tight && l.class >= key && allCapitals(l.name) &&
		(l.start == 0 || text[l.start-1] == '\n' || strings.HasSuffix(text[:l.start], "export "))
}

// element matches the text of <password>…</password>, at the first >.
func element(text string, i int) (Match, bool) {
	if !mayEndName(text, i) {
		return Match{}, false
	}
	start := nameStart(text, i)
	c := classify(text[start:i])
	if start > 0 && text[start-1] == ':' {
		start = nameStart(text, start-1) // <ns:password>
	}
	if start == 0 || text[start-1] != '<' {
		return Match{}, false
	}
	name := text[start:i]
	if c == nothing || c == capitals {
		return Match{}, false
	}
	end := i + 1
	for end < len(text) && text[end] != '<' && text[end] != '\n' {
		end++
	}
	if !strings.HasPrefix(text[end:], "</") || !strings.HasPrefix(text[end+2:], name) {
		return Match{}, false
	}
	m, ok := judge(candidate{name: name, class: c, value: text[i+1 : end], quoted: true})
	return m.at(i + 1), ok
}
