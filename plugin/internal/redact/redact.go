// Package redact finds credentials in text and masks them (S3.4).
//
// What counts as one:
//   - the value of an assignment or a JSON field whose name says so: a password,
//     secret, token, API key or authorization header (name.go), written with =,
//     :, :=, =>, as a typed declaration, as <name>…</name>, or on the lines below
//     a YAML key (assign.go, extent.go, yaml.go);
//   - the credential of an authorization header, whatever its scheme, and what
//     follows the word Bearer, when it looks like a token (header.go);
//   - what a command line gives to --name, curl -u, sshpass -p and the like, and
//     the password of a .netrc (command.go);
//   - tokens with a well-known prefix, JSON Web Tokens and bot tokens (token.go);
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
	if m.hidden || len(v) < longEnough || !ascii(v) {
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
		var m Match
		var ok bool
		switch triggers[text[i]] {
		case operator:
			m, ok = assignment(text, i)
		case tag:
			m, ok = element(text, i)
		case dash:
			if m, ok = dashes(text, i); !ok {
				m, ok = token(text, i)
			}
		case letter:
			if i+1 < len(text) && (text[i+1]|0x20 == 'e' || text[i] == 'p' && (text[i+1] == 'a' || text[i+1] == 'i')) {
				m, ok = token(text, i)
			}
		default:
			m, ok = token(text, i)
		}
		if ok && m.Start >= from && m.Start < to && m.Start < m.End {
			return m, true
		}
	}
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

// What a credential is found by. Tokens are found by the rarest character of
// their prefix, from which the search looks back for its beginning.
const (
	operator = 1 << iota // = and :, also in full width
	tag                  // > behind the name of an element
	dash                 // of a PEM header, a flag, or a token
	prefix               // in the prefix of a token
	letter               // in bearer, password and dapi, by the letter behind it
)

var triggers = [256]uint8{
	'=': operator, ':': operator, wide: operator, '>': tag, '-': dash,
	'_': prefix, '.': prefix, 'A': prefix, 'J': prefix, 'B': letter, 'b': letter, 'p': letter,
}
