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

// judge returns the part of a value that is a credential: a scheme like Bearer is
// not in it.
func judge(c candidate) Match {
	start, _, hides := splitScheme(c.class, c.value)
	v := c.value[start:]
	switch {
	case v == "", masked(v), reference(v), foldAny(v, placeholders), strings.HasPrefix(v, pemBegin),
		(!c.quoted || c.class <= key) && !(alnum | high).in(v),
		!c.quoted && (fold(v, strings.ToLower(c.name)) || c.spaced && (prose(c.class, v, c.rest) || code(v))),
		!c.class.hidesNumbers() && numeric(v),
		(c.class <= key || foldSuffix(c.name, "pwd")) && path(v),
		(c.class == maybe || c.class == credential) && !looksSecret(v),
		c.class == capitals && (len(v) < 8 || !b64token.all(v)):
		return Match{}
	}
	return Match{Start: start, End: len(c.value), hidden: hides || c.class.hides() || strings.IndexByte(v, ' ') >= 0}
}

// prose reports whether a value reads as the beginning of a sentence: by its
// first word or, where a token is expected, by the word behind it.
func prose(c class, v, rest string) bool {
	first, more, several := strings.Cut(v, " ")
	if foldAny(first, proseWords) {
		return true
	}
	if c > authorization || len(first) > 15 || !letter.all(first) {
		return false
	}
	if !several {
		if rest == "" || rest[0] != ' ' {
			return false
		}
		more = rest[1:]
	}
	return foldAny(more[:alnum.spanMax(more, 0, maxName)], functionWords)
}

// code reports whether v is an expression of a program: a call, or a member of
// something that holds settings.
func code(v string) bool {
	for _, r := range roots {
		if strings.HasPrefix(v, r) {
			return true
		}
	}
	i := (word | dot).span(v, 0)
	return i > 0 && i < len(v) && (v[i] == '(' || v[i] == '[') && !digit.has(v[0])
}
