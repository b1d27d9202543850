// Package redact finds credentials in text and masks them (S3.4).
//
// What counts as one:
//   - the value of an assignment or a JSON field whose name says so: a password,
//     secret, token, API key or authorization header (name.go), written with =,
//     :, :=, =>, as a typed declaration, as <name>…</name>, or on the lines below
//     a YAML key (assign.go, element.go, extent.go, yaml.go);
//   - the credential of an authorization header, whatever its scheme, and what
//     follows the word Bearer, when it looks like a token (header.go);
//   - what a command line gives to --name, curl -u, sshpass -p and the like
//     (command.go), and the password of a .netrc (netrc.go);
//   - tokens with a well-known prefix (the table in token.go), JSON Web Tokens
//     (jwt.go) and bot tokens (bot.go);
//   - passwords and tokens before the @ of a URL, and webhooks (url.go);
//   - PEM private keys, complete or cut off (pem.go).
//
// How it is masked: of tokens and keys of 18 or more ASCII characters the first
// six and last four stay, around …; every other value becomes ***. Passwords and
// secrets always do, because people choose them, and what may hold a password
// (Basic, a passphrase) does too. Of a PEM key the BEGIN and END lines stay. A
// mask is never masked again, so the operation is idempotent, and the text grows
// by at most two bytes for a value and by 16 for a PEM key.
//
// Numbers are no tokens (max_tokens=100), nor are placeholders ($TOKEN, <token>,
// "required"), sentences ("token: expires in …"), names whose key is none of a
// lock (sessionKey, primary_key), paths (private_key: /etc/key.pem), and words
// that merely end like one (keyboard, monkey). In doubt a short word too many is
// masked: the other mistake cannot be taken back.
//
// Time is linear in the text: every look back or ahead from a trigger is bounded
// or ends where the next trigger's begins.
package redact

import "strings"

// Sizes of masks, in bytes.
const (
	longEnough = 18 // from here on, head and tail are shown
	head       = 6
	tail       = 4
)

const (
	ellipsis = "…"
	hidden   = "***"
)

// Match is a credential at text[Start:End].
type Match struct {
	Start, End int
	hidden     bool // no part of it is shown
	pem        bool
}

// AppendMask appends what takes the credential's place.
func (m Match) AppendMask(dst []byte, text string) []byte {
	if m.pem {
		return append(dst, pemMask...)
	}
	v := text[m.Start:m.End]
	if m.hidden || len(v) < longEnough || high.in(v) {
		return append(dst, hidden...)
	}
	dst = append(append(dst, v[:head]...), ellipsis...)
	return append(dst, v[len(v)-tail:]...)
}

// Next finds the first credential that starts in text[from:to]; it may end
// behind to. Matches do not overlap when from is the End of the one before.
func Next(text string, from, to int) (Match, bool) {
	for i := from; ; i++ {
		if i = nextTrigger(text, i, to); i >= to {
			return Match{}, false
		}
		if triggers[text[i]] == letterTrigger && !lettered(text, i) {
			continue
		}
		if m := match(text, i); m.found() && m.Start >= from && m.Start < to {
			return m, true
		}
	}
}

// found tells a match from the empty one, which says that there is none.
func (m Match) found() bool { return m.Start < m.End }

// shift returns the match of a part of a text that starts at i.
func (m Match) shift(i int) Match {
	m.Start += i
	m.End += i
	return m
}

// triggers are the characters that a credential is found by: the rarest one of its
// prefix, or the mark before it. The parser of its shape looks back from there for
// the beginning, and ahead for the end.
var triggers = [256]uint8{'=': 1, ':': 1, wide: 1, '>': 1, '-': 1, '_': 1, '.': 1, 'A': 1, 'J': 1,
	'B': letterTrigger, 'b': letterTrigger, 'p': letterTrigger}

// letterTrigger is a letter that the next one makes a trigger: of bearer, password
// and dapi.
const letterTrigger = 2

// lettered reports whether the letter at text[i] is a trigger.
func lettered(text string, i int) bool {
	return i+1 < len(text) && (text[i+1]|0x20 == 'e' || text[i] == 'p' && (text[i+1] == 'a' || text[i+1] == 'i'))
}

// match returns the credential that the trigger at text[i] belongs to.
func match(text string, i int) (m Match) {
	switch text[i] {
	case ':':
		return colon(text, i)
	case '=', wide:
		return assignment(text, i)
	case '>':
		return element(text, i)
	case 'B', 'b':
		return bearer(text, i)
	case 'A':
		if !boundary(text, i) {
			return m // within a word, as in base64: the tokens begin with it
		}
	case '-':
		m = dashes(text, i)
	case '.':
		m = discord(text, i)
	case 'J':
		m = jsonWebToken(text, i)
	case 'p':
		m = netrc(text, i)
	}
	if m.found() {
		return m
	}
	return token(text, i)
}

// dashes matches a PEM private key, or a command-line flag or option, at text[i].
func dashes(text string, i int) Match {
	switch {
	case i+1 >= len(text) || text[i+1] != '-':
		return option(text, i)
	case i > 0 && text[i-1] == '-':
		return Match{}
	case strings.HasPrefix(text[i:], pemBegin):
		return pem(text, i)
	case !boundary(text, i) || strings.HasSuffix(text[:i], ellipsis):
		return Match{}
	}
	return flag(text, i)
}

// nextTrigger returns the index of the first trigger in text[i:to], or to. It
// looks at eight bytes at a time, because a loop costs a guest more than what is
// in it: each of its rounds may be counted or interrupted.
func nextTrigger(text string, i, to int) int {
	for ; i+8 <= to; i += 8 {
		t := text[i : i+8]
		if triggers[t[0]]|triggers[t[1]]|triggers[t[2]]|triggers[t[3]]|triggers[t[4]]|triggers[t[5]]|triggers[t[6]]|triggers[t[7]] != 0 {
			break
		}
	}
	for i < to && triggers[text[i]] == 0 {
		i++
	}
	return i
}

// Append appends text with every credential masked, and reports whether there
// was one.
func Append(dst []byte, text string) ([]byte, bool) {
	from, found := 0, false
	for {
		m, ok := Next(text, from, len(text))
		if !ok {
			return append(dst, text[from:]...), found
		}
		found = true
		dst = m.AppendMask(append(dst, text[from:m.Start]...), text)
		from = m.End
	}
}
