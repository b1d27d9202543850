package redact

import "strings"

// maxCommand is how far before its option the name of a program may be.
const maxCommand = 256

// options are credentials on the command lines of programs that are short of
// letters for them. user: only what follows the colon. joined: without a blank.
var options = []struct {
	letter       byte
	program      string
	user, joined bool
}{
	{letter: 'u', program: "curl", user: true},
	{letter: 'p', program: "sshpass"},
	{letter: 'p', program: "sshpass", joined: true},
	{letter: 'p', program: "mysql", joined: true},
	{letter: 'a', program: "redis-cli"},
}

// option matches the value of a command-line option of one letter at text[i].
func option(text string, i int) (Match, bool) {
	if i+3 >= len(text) || i > 0 && !blank(text[i-1]) {
		return Match{}, false
	}
	for k := range options {
		o := &options[k]
		if text[i+1] != o.letter || o.joined == blank(text[i+2]) || !strings.Contains(line(text, i), o.program) {
			continue
		}
		if m, ok := argument(text, skipSpace(text, i+2), "", o.user); ok {
			return m, true
		}
	}
	return Match{}, false
}

// flag matches the value of a command-line flag --name that starts at i.
func flag(text string, i int) (Match, bool) {
	from := i + len("--")
	end := run(text, from, dashed, maxName)
	if end == from || end >= len(text) || text[end] != ' ' {
		return Match{}, false
	}
	name := text[from:end]
	v := skipSpace(text, end)
	switch {
	case v < len(text) && text[v] == '-':
		return Match{}, false
	case fold(name, "user"), fold(name, "proxy-user"):
		return argument(text, v, "", true)
	}
	c := classify(name)
	if c < key {
		return Match{}, false
	}
	return label{name: name, class: c}.argument(text, v)
}

// argument matches a password that is an argument of a program, or the part
// behind the colon of a user and a password.
func argument(text string, v int, name string, user bool) (Match, bool) {
	l := label{name: name, class: password}
	if !user {
		return l.argument(text, v)
	}
	if v < len(text) && quoteByte(text[v]) {
		v++
	}
	from := v
	for v < len(text) && v-from < maxName && (dotted.has(text[v]) || text[v] == '@' || text[v] == '$' || text[v] == '\\') {
		v++
	}
	if v == from || v >= len(text) || text[v] != ':' {
		return Match{}, false
	}
	m, ok := l.argument(text, v+1)
	return m, ok && !numeric(text[m.Start:m.End])
}

// argument matches the label's value at v, which is neither code nor prose.
func (l label) argument(text string, v int) (Match, bool) {
	return l.value(text, v, ' ')
}

// netrc matches the password of a line of .netrc, at the p of: login NAME
// password VALUE.
func netrc(text string, i int) (Match, bool) {
	const word, before = "password", "login"
	v := i + len(word)
	if !strings.HasPrefix(text[i:], word) || v >= len(text) || !blank(text[v]) {
		return Match{}, false
	}
	head := strings.TrimRight(text[max(0, i-maxName):i], " \t\r\n")
	user := strings.LastIndexAny(head, " \t\n")
	if user < 0 || i == 0 || text[i-1] > ' ' || foldAny(head[user+1:], functionWords) {
		return Match{}, false
	}
	head = strings.TrimRight(head[:user], " \t")
	if !strings.HasSuffix(head, before) {
		return Match{}, false
	}
	return label{name: word, class: password}.argument(text, skipSpace(text, v))
}

// line returns the beginning of the line that text[i] is in, as far as it matters.
func line(text string, i int) string {
	head := text[max(0, i-maxCommand):i]
	return head[strings.LastIndexByte(head, '\n')+1:]
}
