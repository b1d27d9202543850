// Package redact finds credentials in text and masks them (S3.4).
//
// It finds these credentials:
//   - the value of an assignment or a JSON member with the name of a password,
//     secret, token, API key or authorization header (name.go), written with =,
//     :, :=, =>, as a typed declaration, as <name>…</name>, or on the lines below
//     a YAML key (assign.go, element.go, extent.go, yaml.go);
//   - the credential of an authorization header with any scheme, and a token after
//     the word Bearer (header.go);
//   - the value of --name, curl -u, sshpass -p and similar options on a command
//     line (command.go), and the password in a .netrc (netrc.go);
//   - tokens with a well-known prefix (the table in token.go), JSON Web Tokens
//     (jwt.go) and bot tokens (bot.go);
//   - passwords and tokens before the @ of a URL, and webhooks (url.go);
//   - PEM private keys, complete or truncated (pem.go).
//
// The mask of a token or key of 18 or more ASCII characters keeps the first six and last
// four characters, around …; every other value becomes ***. Passwords, secrets and values
// that may contain a password (Basic, a passphrase) always become ***, because people
// choose them. The BEGIN and END lines of a PEM key stay. A mask is never masked again, so
// the operation is idempotent. The text grows by at most two bytes for a value and by 16
// for a PEM key.
//
// These are not credentials: numbers (max_tokens=100), placeholders ($TOKEN, <token>,
// "required"), sentences ("token: expires in …"), keys that are identifiers (sessionKey,
// primary_key), paths (private_key: /etc/key.pem), and words that only end like a name
// (keyboard, monkey). In doubt a short word is masked: disclosing a credential would be
// worse.
//
// Time is linear in the text: every search back or ahead from a trigger is bounded, or
// ends where the next trigger's search begins.
package redact

import "strings"

// Sizes of masks, in bytes.
const (
	longEnough = 18 // shortest value of which head and tail are shown
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
	hidden     bool // the mask shows no part of the credential
	pem        bool
}

// AppendMask appends the mask of the credential.
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

// Next finds the first credential that starts in text[from:to]; the credential may end
// after to. Matches do not overlap if from is the End of the previous match.
func Next(text string, from, to int) (Match, bool) {
	for i := from; ; i++ {
		if i = nextTrigger(text, i, to); i >= to {
			return Match{}, false
		}
		if triggers[text[i]] == letterTrigger && !isLetterTrigger(text, i) {
			continue
		}
		if m := match(text, i); m.found() && m.Start >= from && m.Start < to {
			return m, true
		}
	}
}

// found reports whether m is a match: a failed search returns an empty Match.
func (m Match) found() bool { return m.Start < m.End }

// shift returns m, a match in the part of a text from i on, as a match in the text.
func (m Match) shift(i int) Match {
	m.Start += i
	m.End += i
	return m
}

// triggers are the characters at which the search for a credential starts: the rarest
// character of its prefix, or the punctuation before it. From there, the credential's
// matcher searches back for the beginning and ahead for the end.
var triggers = [256]uint8{'=': 1, ':': 1, wide: 1, '>': 1, '-': 1, '_': 1, '.': 1, 'A': 1, 'J': 1,
	'B': letterTrigger, 'b': letterTrigger, 'p': letterTrigger}

// letterTrigger marks a letter that is a trigger only before certain letters: in bearer,
// password and dapi.
const letterTrigger = 2

// isLetterTrigger reports whether the letter at text[i] is a trigger.
func isLetterTrigger(text string, i int) bool {
	return i+1 < len(text) && (text[i+1]|0x20 == 'e' || text[i] == 'p' && (text[i+1] == 'a' || text[i+1] == 'i'))
}

// match returns the credential of the trigger at text[i].
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
			return m // within a word, as in base64; the A is the first character of the tokens
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

// nextTrigger returns the index of the first trigger in text[i:to], or to. It examines
// eight bytes per iteration, because hosts may count or interrupt every iteration of a
// guest's loop, which costs more than the loop body.
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

// Append appends text with every credential masked, and reports whether there was a
// credential.
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
