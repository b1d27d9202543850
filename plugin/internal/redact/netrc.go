package redact

import "strings"

// netrc matches the value in a line of .netrc, login NAME password VALUE; text[i] is the p
// of password.
func netrc(text string, i int) Match {
	const word, before = "password", "login"
	v := i + len(word)
	if !strings.HasPrefix(text[i:], word) || !blank.at(text, v) {
		return Match{}
	}
	head := strings.TrimRight(text[max(0, i-maxName):i], " \t\r\n")
	user := strings.LastIndexAny(head, " \t\n")
	if user < 0 || i == 0 || text[i-1] > ' ' || foldAny(head[user+1:], functionWords) ||
		!strings.HasSuffix(strings.TrimRight(head[:user], " \t"), before) {
		return Match{}
	}
	return label{name: word, class: password}.value(text, skipSpace(text, v), ' ')
}
