package redact

import "strings"

var (
	// Words in the position of a credential that are not credentials: placeholders
	// anywhere, and proseWords after a blank, where prose and types may occur.
	placeholders = []string{"true", "false", "null", "none", "undefined", "n/a", "redacted", "hidden", "masked"}
	proseWords   = []string{"nil", "empty", "unset", "required", "missing", "invalid", "expired", "optional", "string", "str", "number",
		"int", "bool", "boolean", "object", "any", "bytes", "bearer", "basic", "yes", "no", "not", "set", "is", "the", "a", "an", "to",
		"for", "from", "your", "my", "and", "or", "unknown", "default", "auto", "inherit", "must", "should", "may", "can", "cannot", "will",
		"click", "enter", "see", "use", "please", "unexpected", "expires", "has", "was", "are", "if", "when", "it", "this", "that", "does",
		"too", "wrong", "incorrect", "used"}

	// Words that distinguish a sentence from a passphrase, and a word from a token.
	functionWords = []string{"the", "a", "an", "is", "are", "was", "be", "been", "must", "should", "has", "have", "to", "in", "on", "at", "of",
		"for", "from", "by", "with", "and", "or", "not", "your", "you", "it", "as", "if", "this", "that", "please"}

	// Objects from which programs read their settings.
	roots = []string{"process.env", "os.environ", "os.getenv", "import.meta", "secrets.", "env.", "vars.", "self.", "this.", "config.",
		"cfg.", "settings.", "req.", "request.", "ctx.", "args.", "opts.", "options.", "params.", "props."}
)

// assigned is a value that is assigned to a name and may be a credential.
type assigned struct {
	name   string
	class  class // of the name
	value  string
	rest   string // the text after an unquoted value
	quoted bool   // if not, the value may be code or prose
	spaced bool   // follows a blank
}

// credentialIn returns the part of a value that is a credential, without a scheme such as
// Bearer.
func credentialIn(c assigned) Match {
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

// prose reports whether a value reads like the beginning of a sentence, by its first word
// or, for a token, by the word after it.
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

// code reports whether v is a program expression: a call, or a member of one of roots.
func code(v string) bool {
	for _, r := range roots {
		if strings.HasPrefix(v, r) {
			return true
		}
	}
	i := (word | dot).span(v, 0)
	return i > 0 && i < len(v) && (v[i] == '(' || v[i] == '[') && !digit.has(v[0])
}
