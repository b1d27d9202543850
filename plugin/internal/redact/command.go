package redact

import "strings"

// maxCommand is the maximal distance from a program's name to its option, in bytes.
const maxCommand = 256

// options are the one-letter options whose value is a credential, with their programs.
var options = []struct {
	letter  byte
	program string
	user    bool // the value is user:password, and only the password is masked
	joined  bool // the value follows the letter without a blank
}{
	{letter: 'u', program: "curl", user: true},
	{letter: 'p', program: "sshpass"},
	{letter: 'p', program: "sshpass", joined: true},
	{letter: 'p', program: "mysql", joined: true},
	{letter: 'a', program: "redis-cli"},
}

// option matches the value of a command-line option of one letter at text[i].
func option(text string, i int) Match {
	if i+3 >= len(text) || i > 0 && !blank.has(text[i-1]) {
		return Match{}
	}
	for k := range options {
		o := &options[k]
		if text[i+1] != o.letter || o.joined == blank.has(text[i+2]) || !strings.Contains(line(text, i), o.program) {
			continue
		}
		if m := argument(text, skipSpace(text, i+2), o.user); m.found() {
			return m
		}
	}
	return Match{}
}

// line returns the part of the line before text[i], at most maxCommand bytes.
func line(text string, i int) string {
	head := text[max(0, i-maxCommand):i]
	return head[strings.LastIndexByte(head, '\n')+1:]
}

// flag matches the value of a command-line flag --name that starts at i.
func flag(text string, i int) Match {
	from := i + len("--")
	end := dashed.spanMax(text, from, maxName)
	if end == from || !space.at(text, end) {
		return Match{}
	}
	name, v := text[from:end], skipSpace(text, end)
	if hyphen.at(text, v) {
		return Match{}
	}
	if fold(name, "user") || fold(name, "proxy-user") {
		return argument(text, v, true)
	}
	c := classify(name)
	if c < key {
		return Match{}
	}
	return label{name: name, class: c}.value(text, v, ' ')
}

// argument matches the argument of a program at text[v:] as a password or, if user is set,
// the password in user:password.
func argument(text string, v int, user bool) Match {
	l := label{class: password}
	if !user {
		return l.value(text, v, ' ')
	}
	if quote.at(text, v) {
		v++
	}
	from := v
	for v < len(text) && v-from < maxName && (dotted.has(text[v]) || strings.IndexByte(`@$\`, text[v]) >= 0) {
		v++
	}
	if v == from || v >= len(text) || text[v] != ':' {
		return Match{}
	}
	if m := l.value(text, v+1, ' '); !numeric(text[m.Start:m.End]) {
		return m
	}
	return Match{}
}
