package redact

import "strings"

var (
	// Words that stand where a credential would, and are none: anywhere, and behind
	// a blank, where prose and types may stand.
	placeholders = []string{"true", "false", "null", "none", "undefined", "n/a", "redacted", "hidden", "masked"}
	proseWords   = []string{"nil", "empty", "unset", "required", "missing", "invalid", "expired", "optional", "string", "str", "number",
		"int", "bool", "boolean", "object", "any", "bytes", "bearer", "basic", "yes", "no", "not", "set", "is", "the", "a", "an", "to",
		"for", "from", "your", "my", "and", "or", "unknown", "default", "auto", "inherit", "must", "should", "may", "can", "cannot", "will",
		"click", "enter", "see", "use", "please", "unexpected", "expires", "has", "was", "are", "if", "when", "it", "this", "that", "does",
		"too", "wrong", "incorrect", "used"}

	// Words that tell a sentence from a passphrase, and a word from a token.
	functionWords = []string{"the", "a", "an", "is", "are", "was", "be", "been", "must", "should", "has", "have", "to", "in", "on", "at", "of",
		"for", "from", "by", "with", "and", "or", "not", "your", "you", "it", "as", "if", "this", "that", "please"}

	// Where programs take their settings from.
	roots = []string{"process.env", "os.environ", "os.getenv", "import.meta", "secrets.", "env.", "vars.", "self.", "this.", "config.",
		"cfg.", "settings.", "req.", "request.", "ctx.", "args.", "opts.", "options.", "params.", "props."}
)

// candidate is a value that may be a credential.
type candidate struct {
	name   string
	class  class // of the name
	value  string
	rest   string // of the text, behind an unquoted value
	quoted bool   // a text; what is not may be code or prose
	spaced bool   // behind a blank
}

// judge decides whether a value is a credential, and which part of it: a scheme
// like Bearer stays.
func judge(c candidate) (m Match, ok bool) {
	v := c.value
	hide := c.class.hides()
	m.End = len(v)
	if start, single := splitScheme(c.class, v); start > 0 {
		hide = hide || !single || foldAny(v[:strings.IndexByte(v, ' ')], secretSchemes)
		m.Start, v = start, v[start:]
	}
	m.hidden = hide || strings.IndexByte(v, ' ') >= 0
	switch {
	case v == "", masked(v), reference(v), foldAny(v, placeholders), strings.HasPrefix(v, pemBegin):
		return m, false
	case (!c.quoted || c.class <= key) && !anyWord(v):
		return m, false
	case !c.quoted && (fold(v, asLower(c.name)) || c.spaced && (prose(c.class, v, c.rest) || code(v))):
		return m, false
	case !c.class.hidesNumbers() && numeric(v):
		return m, false
	case (c.class <= key || foldSuffix(c.name, "pwd")) && path(v):
		return m, false
	case (c.class == maybe || c.class == credential) && !looksSecret(v):
		return m, false
	case c.class == capitals && (len(v) < 8 || !plainWord(v)):
		return m, false
	}
	return m, true
}

// at returns the match of a part of a text that starts at i.
func (m Match) at(i int) Match {
	m.Start += i
	m.End += i
	return m
}

// prose reports whether a value reads as the beginning of a sentence: by its
// first word or, where a token is expected, by the word behind it.
func prose(c class, v, rest string) bool {
	first, more, several := strings.Cut(v, " ")
	if foldAny(first, proseWords) {
		return true
	}
	if c > authorization || len(first) > 15 {
		return false
	}
	for i := 0; i < len(first); i++ {
		if !lower(first[i] | 0x20) {
			return false
		}
	}
	if !several {
		if rest == "" || rest[0] != ' ' {
			return false
		}
		more = rest[1:]
	}
	return foldAny(more[:run(more, 0, alphanumeric, maxName)], functionWords)
}

// masked reports whether v begins with a mask of ours, or is what is left of one.
func masked(v string) bool {
	return strings.HasPrefix(v, hidden) || strings.Contains(v[:min(len(v), head+len(ellipsis))], ellipsis)
}

// opensMask reports whether a text begins with a value that is masked, however
// long that is.
func opensMask(text string) bool {
	v := text[:min(len(text), head+len(ellipsis))]
	if i := strings.IndexAny(v, " \t\r\n\"'`&<>,;"); i >= 0 {
		v = v[:i]
	}
	return masked(v)
}

// reference reports whether v names where the credential comes from instead of
// being it: $TOKEN, ${token}, $(pass …), {{token}}, <token>, %TOKEN%.
func reference(v string) bool {
	if len(v) < 2 {
		return false
	}
	if opensReference(v) {
		return true
	}
	last := v[len(v)-1]
	switch v[0] {
	case '$':
		return allCapitals(v[1:])
	case '<':
		return last == '>' || !strings.Contains(v, ">")
	case '%':
		return last == '%' && allCapitals(v[1:len(v)-1])
	}
	return false
}

// opensReference reports whether v begins like a reference, wherever that ends.
func opensReference(v string) bool {
	return strings.HasPrefix(v, "${") || strings.HasPrefix(v, "$(") || strings.HasPrefix(v, "{{")
}

// code reports whether v is an expression of a program: a call, or a member of
// something that holds settings.
func code(v string) bool {
	for _, r := range roots {
		if strings.HasPrefix(v, r) {
			return true
		}
	}
	i := 0
	for i < len(v) && (word(v[i]) || v[i] == '.') {
		i++
	}
	return i > 0 && i < len(v) && (v[i] == '(' || v[i] == '[') && !digit(v[0])
}

// asLower returns the ASCII letters of a name in lower case.
func asLower(s string) string {
	for i := 0; i < len(s); i++ {
		if upper(s[i]) {
			return strings.ToLower(s)
		}
	}
	return s
}
