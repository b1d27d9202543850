package redact

import "strings"

// element matches the text of an element such as <password>…</password>; text[i] is the
// > of its start tag.
func element(text string, i int) Match {
	if !mayEndName(text, i) {
		return Match{}
	}
	start := dotted.back(text, i, maxName)
	c := classify(text[start:i])
	if start > 0 && text[start-1] == ':' {
		start = dotted.back(text, start-1, maxName) // <ns:password>
	}
	if start == 0 || text[start-1] != '<' || c == nothing || c == capitals {
		return Match{}
	}
	name, v := text[start:i], i+1
	end := v
	for end < len(text) && text[end] != '<' && text[end] != '\n' {
		end++
	}
	if !strings.HasPrefix(text[end:], "</") || !strings.HasPrefix(text[end+2:], name) {
		return Match{}
	}
	return credentialIn(assigned{name: name, class: c, value: text[v:end], quoted: true}).shift(v)
}
