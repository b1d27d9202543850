// Package redact finds credentials in text and masks them (S3.4).
//
// What counts as one:
//   - the value of an assignment or a JSON field whose name says so: a password,
//     secret, token, API key or authorization header (name.go), written with =,
//     :, :=, => or as a command-line flag --name value;
//   - what follows the word Bearer, when it looks like a token;
//   - tokens with a well-known prefix, JSON Web Tokens and Telegram bot tokens
//     (token.go), and passwords inside URLs;
//   - PEM private keys, complete or cut off (pem.go).
//
// How it is masked: a value of 18 or more ASCII characters keeps its first six
// and last four around …; anything else becomes ***. Of a PEM key the BEGIN and
// END lines stay. A mask is never masked again, so the operation is idempotent,
// and the text grows by at most two bytes for a value and by 16 for a PEM key.
//
// Numbers are no tokens (max_tokens=100), nor are placeholders ($TOKEN, <token>,
// "required"), names whose key is none of a lock (sessionKey, primary_key), and
// words that merely end like one (keyboard, monkey). In doubt a short word too
// many is masked: the other mistake cannot be taken back.
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
	pem        bool
}

// AppendMask appends what takes the credential's place.
func (m Match) AppendMask(dst []byte, text string) []byte {
	if m.pem {
		return append(dst, pemMask...)
	}
	v := text[m.Start:m.End]
	if len(v) < longEnough || !ascii(v) {
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
		case dash:
			if m, ok = dashes(text, i); !ok {
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

// Member finds the credential that a JSON string is because of its member's
// name. There may be others in the value, which Next finds.
func Member(name, value string) (Match, bool) {
	class := classify(name)
	if class == nothing {
		return Match{}, false
	}
	start, end, ok := judge(class, name, value, true, false)
	return Match{Start: start, End: end}, ok
}

// HidesNumbers reports whether even a number under this member's name is a
// credential, as it is for passwords.
func HidesNumbers(name string) bool {
	c := classify(name)
	return c == password || c == secret
}

// What a credential is found by. Tokens are found by the rarest character of
// their prefix, from which the search looks back for its beginning.
const (
	operator = 1 << iota // = and :
	dash                 // of a PEM header, a flag, or a token
	prefix               // in the prefix of a token
)

var triggers = [256]uint8{
	'=': operator, ':': operator, '-': dash,
	'_': prefix, '.': prefix, 'A': prefix, 'J': prefix, 'B': prefix, 'b': prefix,
}

// boundary reports whether a word can start at i: not within a word, unless what
// precedes is an escape like \n that was left undecoded.
func boundary(text string, i int) bool {
	if i == 0 || !word(text[i-1]) {
		return true
	}
	return i > 1 && text[i-2] == '\\' && escapeLetter(text[i-1])
}

func escapeLetter(c byte) bool { return c == 'n' || c == 'r' || c == 't' }

func word(c byte) bool { return alnum(c) || c == '_' }

func alnum(c byte) bool { return lower(c) || upper(c) || digit(c) }

func lower(c byte) bool { return c >= 'a' && c <= 'z' }

func upper(c byte) bool { return c >= 'A' && c <= 'Z' }

func digit(c byte) bool { return c >= '0' && c <= '9' }

func ascii(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// fold reports whether s is the lower-case ASCII word.
func fold(s, word string) bool {
	return len(s) == len(word) && foldPrefix(s, word)
}

// foldPrefix reports whether s starts with the lower-case ASCII word.
func foldPrefix(s, word string) bool {
	if len(s) < len(word) {
		return false
	}
	for i := 0; i < len(word); i++ {
		c := s[i]
		if upper(c) {
			c += 'a' - 'A'
		}
		if c != word[i] {
			return false
		}
	}
	return true
}

// foldSuffix reports whether s ends with the lower-case ASCII word.
func foldSuffix(s, word string) bool {
	return len(s) >= len(word) && foldPrefix(s[len(s)-len(word):], word)
}

// foldAny reports whether s is one of the lower-case ASCII words.
func foldAny(s string, words []string) bool {
	for _, w := range words {
		if fold(s, w) {
			return true
		}
	}
	return false
}
