package redact

import "strings"

var (
	// Words that stand where a credential would, and are none: anywhere, and behind
	// a blank, where prose and types may stand.
	placeholders = []string{"true", "false", "null", "none", "undefined", "n/a", "redacted", "hidden", "masked"}
	proseWords   = []string{"nil", "empty", "unset", "required", "missing", "invalid", "expired", "optional", "string", "str", "number",
		"int", "bool", "boolean", "object", "any", "bytes", "bearer", "basic", "yes", "no", "not", "set", "is", "the", "a", "an", "to",
		"for", "from", "your", "my", "and", "or", "unknown", "default", "auto", "inherit"}

	schemes = []string{"bearer", "basic", "token", "digest", "apikey", "bot"}

	// Where programs take their settings from.
	roots = []string{"process.env", "os.environ", "os.getenv", "import.meta", "secrets.", "env.", "vars.", "self.", "this.", "config.",
		"cfg.", "settings.", "req.", "request.", "ctx.", "args.", "opts.", "options.", "params.", "props."}
)

// judge decides whether a value is a credential, given its name's class, and
// which part of it: a scheme like Bearer stays. quoted values are texts; unquoted
// ones behind a blank may be code.
func judge(c class, name, v string, quoted, spaced bool) (start, end int, ok bool) {
	end = len(v)
	if i := strings.IndexByte(v, ' '); i > 0 && isScheme(v[:i]) {
		start = skipSpace(v, i)
		v = v[start:]
	}
	switch {
	case v == "", masked(v), reference(v), foldAny(v, placeholders), strings.HasPrefix(v, pemBegin):
		return 0, 0, false
	case !quoted && (!anyWord(v) || fold(v, asLower(name)) || spaced && (foldAny(v, proseWords) || code(v))):
		return 0, 0, false
	case (c == key || c == authorization) && numeric(v):
		return 0, 0, false
	case c == maybe && !looksSecret(v):
		return 0, 0, false
	case c == capitals && (len(v) < 8 || numeric(v) || v[0] == '/' || v[0] == '.' || v[0] == '~' || !plainWord(v)):
		return 0, 0, false
	}
	return start, end, true
}

// masked reports whether v is a mask of ours.
func masked(v string) bool {
	return v == hidden || v == pemMask || len(v) == head+len(ellipsis)+tail && v[head:head+len(ellipsis)] == ellipsis
}

// reference reports whether v names where the credential comes from instead of
// being it: $TOKEN, ${token}, $(pass …), {{token}}, <token>, %TOKEN%.
func reference(v string) bool {
	if len(v) < 2 {
		return false
	}
	last := v[len(v)-1]
	switch v[0] {
	case '$':
		return v[1] == '{' || v[1] == '(' || allCapitals(v[1:])
	case '{':
		return v[1] == '{'
	case '<':
		return last == '>' || !strings.Contains(v, ">")
	case '%':
		return last == '%' && allCapitals(v[1:len(v)-1])
	}
	return false
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

func isScheme(s string) bool { return foldAny(s, schemes) }

func anyWord(v string) bool {
	for i := 0; i < len(v); i++ {
		if alnum(v[i]) || v[i] >= 0x80 {
			return true
		}
	}
	return false
}

// numeric reports whether v is an amount: 512, 1.5k, 20%.
func numeric(v string) bool {
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case digit(c), c == '.', c == ',', c == '_', c == '-', c == '+':
		case i == len(v)-1 && (c == 'k' || c == 'K' || c == 'm' || c == 'M' || c == '%'):
		default:
			return false
		}
	}
	return true
}

// plainWord reports whether v has the characters of a key and no others.
func plainWord(v string) bool {
	for i := 0; i < len(v); i++ {
		if !credentialByte(v[i]) {
			return false
		}
	}
	return true
}

// looksSecret tells a generated secret from a name: 20 characters with digits,
// capitals and small letters, or 32 letters and digits. A UUID is a name.
func looksSecret(v string) bool {
	digits, capital, small, marks := 0, 0, 0, 0
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case digit(c):
			digits++
		case upper(c):
			capital++
		case lower(c):
			small++
		case c == '_', c == '-', c == '+', c == '=':
			marks++
		default:
			return false
		}
	}
	if digits == 0 || capital+small == 0 || isUUID(v) {
		return false
	}
	return len(v) >= 20 && capital > 0 && small > 0 || len(v) >= 32 && marks == 0
}

func isUUID(v string) bool {
	if len(v) != 36 {
		return false
	}
	for i := 0; i < len(v); i++ {
		switch i {
		case 8, 13, 18, 23:
			if v[i] != '-' {
				return false
			}
		default:
			if c := v[i]; !digit(c) && (c|0x20 < 'a' || c|0x20 > 'f') {
				return false
			}
		}
	}
	return true
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
