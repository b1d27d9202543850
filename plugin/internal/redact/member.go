package redact

import "strings"

// Member returns the credential in a JSON string, judged by the name of the string's member.
// The string may contain other credentials, which Next finds.
func Member(name, value string) (Match, bool) {
	class := classify(name)
	if class == nothing {
		return Match{}, false
	}
	m := credentialIn(assigned{name: name, class: class, value: value, quoted: true})
	return m, m.found()
}

// HidesNumbers reports whether a number in a member with this name is a credential too, as
// in a member named password.
func HidesNumbers(name string) bool {
	return classify(name).hidesNumbers()
}

// describing are the names of members that describe a credential or its owner.
var describing = []string{"type", "description", "title", "format", "name", "label", "user", "username", "email", "id", "kind", "in", "key", "header"}

// Inherits reports whether outer, the name of an object, also applies to the texts in the
// object's member name, as in {"password": {"value": …}}.
func Inherits(outer, name string) bool {
	if outer == "" {
		return false
	}
	c := classify(outer)
	return (c >= key || c == credential) && classify(name) == nothing && !foldAny(name, describing)
}

// EntryName returns the name of a value from a text such as X-Api-Key in {"name":
// "X-Api-Key", "value": …}. If the text itself contains a credential, as "pass:word" does,
// the name is the part before the credential.
func EntryName(text string) string {
	if classify(text) == nothing {
		if m, found := Next(text, 0, len(text)); found {
			return text[:m.Start]
		}
	}
	return text
}

// Flag returns the name in a command-line flag --name whose value is a credential, or "".
func Flag(argument string) string {
	if len(argument) < 3 || len(argument) > maxName || argument[:2] != "--" || argument[2] == '-' {
		return ""
	}
	name := argument[2:]
	if !dashed.all(name) || classify(name) < key {
		return ""
	}
	return name
}

// KeyMask replaces a line of a private key.
const KeyMask = pemMask

// KeyLine reads one of several texts, such as the elements of an array, that may be the lines
// of a private key. open reports whether a key is open before the text. KeyLine returns
// whether a key is open after it, and whether the text is a line of the key.
func KeyLine(text string, open bool) (openAfter, line bool) {
	if d := strings.LastIndex(text, pemBegin); d >= 0 {
		rest := text[d:]
		return strings.Contains(rest, "PRIVATE KEY"+pemDash) && !strings.Contains(rest, pemEnd), false
	}
	text = strings.TrimSpace(text)
	if !open || text == "" || text == KeyMask {
		return open, false
	}
	end := pemLines("\n"+text, 0)
	return end == len(text)+1, end == len(text)+1
}
