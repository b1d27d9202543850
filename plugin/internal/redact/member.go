package redact

import "strings"

// Member finds the credential that a JSON string is because of its member's
// name. There may be others in the value, which Next finds.
func Member(name, value string) (Match, bool) {
	class := classify(name)
	if class == nothing {
		return Match{}, false
	}
	m := judge(candidate{name: name, class: class, value: value, quoted: true})
	return m, m.found()
}

// HidesNumbers reports whether even a number under this member's name is a
// credential, as it is for passwords.
func HidesNumbers(name string) bool {
	return classify(name).hidesNumbers()
}

// describing are members that say what a credential is, or whose.
var describing = []string{"type", "description", "title", "format", "name", "label", "user", "username", "email", "id", "kind", "in", "key", "header"}

// Inherits reports whether a text in a member of an object is named by the
// object's own name: {"password": {"value": …}}.
func Inherits(outer, name string) bool {
	if outer == "" {
		return false
	}
	c := classify(outer)
	return (c >= key || c == credential) && classify(name) == nothing && !foldAny(name, describing)
}

// Beside returns the name that a text gives to the value beside it. If the text itself
// contains a credential, as "pass:word" does, the name is the part before the credential.
func Beside(text string) string {
	if classify(text) == nothing {
		if m, found := Next(text, 0, len(text)); found {
			return text[:m.Start]
		}
	}
	return text
}

// Flag returns the name of a command-line flag --name whose value is a
// credential, or "".
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

// KeyMask takes the place of a line of a private key.
const KeyMask = pemMask

// KeyLine reports, of one text of several that may be the lines of a private key,
// whether it is a line of the key that is open, and whether one is open behind it.
func KeyLine(text string, open bool) (stays, line bool) {
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
