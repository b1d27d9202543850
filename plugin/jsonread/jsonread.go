// Package jsonread reads JSON front to back in one pass: the caller follows the
// document's structure, takes the values that it wants and skips the rest.
//
// Documents have been checked before (the guest's input by jsonstrict, replies
// and messages by the host), so the reader does not validate; but nothing that
// it is given makes it panic or loop: at a text that is no JSON it stops, OK
// turns false, and every further call returns nothing.
//
//	r := jsonread.New(doc)
//	if r.Object() {
//		for r.Member() {
//			switch r.Name() {
//			case "limit":
//				limit = r.Int()
//			default:
//				r.Skip()
//			}
//		}
//	}
//
// The body of each Member and Element loop must consume exactly one value.
// Strings without escapes are returned as parts of the document, uncopied.
package jsonread

import "strconv"

// Reader is a position in a document. Copies are independent.
type Reader struct {
	s    string
	i    int
	bad  bool
	name string // of the current member, decoded
	raw  string // and as it stands
}

// New returns a Reader at the start of doc.
func New(doc string) Reader { return Reader{s: doc} }

// OK reports whether everything read so far was JSON.
func (r *Reader) OK() bool { return !r.bad }

// Peek returns the first byte of the next value: one of { [ " t f n, a digit or
// a minus sign. It returns 0 at the end of the document.
func (r *Reader) Peek() byte {
	r.space()
	if r.bad || r.i >= len(r.s) {
		return 0
	}
	return r.s[r.i]
}

// Object enters an object. For any other value it skips the value and returns
// false.
func (r *Reader) Object() bool { return r.enter('{') }

// Array enters an array. For any other value it skips the value and returns
// false.
func (r *Reader) Array() bool { return r.enter('[') }

func (r *Reader) enter(open byte) bool {
	if r.Peek() != open {
		r.Skip()
		return false
	}
	r.i++
	return true
}

// Member goes to the next member of the object and reads its name. It returns
// false behind the last one, when the object is left.
func (r *Reader) Member() bool {
	if !r.next('}') {
		return false
	}
	body, escaped := r.RawText()
	r.raw, r.name = body, body
	if escaped {
		r.name = string(Unescape(nil, body))
	}
	if r.Peek() != ':' {
		r.bad = true
		return false
	}
	r.i++
	return true
}

// Name returns the name of the current member, decoded.
func (r *Reader) Name() string { return r.name }

// RawName returns the name of the current member as it stands between its quotes.
func (r *Reader) RawName() string { return r.raw }

// Element goes to the next element of the array. It returns false behind the
// last one, when the array is left.
func (r *Reader) Element() bool { return r.next(']') }

func (r *Reader) next(end byte) bool {
	c := r.Peek()
	if c == ',' {
		r.i++
		c = r.Peek()
	}
	switch c {
	case 0:
		r.bad = true
		return false
	case end:
		r.i++
		return false
	}
	return true
}

// Text reads a string, decoded. For any other value it skips the value and
// returns "".
func (r *Reader) Text() string {
	if r.Peek() != '"' {
		r.Skip()
		return ""
	}
	body, escaped := r.RawText()
	if escaped {
		return string(Unescape(nil, body))
	}
	return body
}

// RawText reads a string and returns what stands between its quotes, and whether
// that contains escapes.
func (r *Reader) RawText() (body string, escaped bool) {
	if r.Peek() != '"' {
		r.bad = true
		return "", false
	}
	start := r.i + 1
	end, escaped := stringEnd(r.s, start)
	if end >= len(r.s) {
		r.bad = true
		return "", false
	}
	r.i = end + 1
	return r.s[start:end], escaped
}

// Int reads a number, less any fraction. For any other value it skips the value
// and returns 0.
func (r *Reader) Int() int64 {
	raw := r.Skip()
	if n, err := strconv.ParseInt(raw, 10, 64); err == nil {
		return n
	}
	f, err := strconv.ParseFloat(raw, 64)
	if err != nil || f > 1<<62 || f < -1<<62 {
		return 0
	}
	return int64(f)
}

// Bool reads a boolean; any other value is false.
func (r *Reader) Bool() bool { return r.Skip() == "true" }

// Skip passes over one value and returns its text.
func (r *Reader) Skip() string {
	c := r.Peek()
	start := r.i
	switch c {
	case 0, '}', ']', ',', ':':
		r.bad = true
		return ""
	case '"':
		r.RawText()
	case '{', '[':
		r.skipNested()
	default:
		for r.i < len(r.s) && !delimits(r.s[r.i]) {
			r.i++
		}
	}
	if r.bad {
		return ""
	}
	return r.s[start:r.i]
}

func (r *Reader) skipNested() {
	s, depth := r.s, 0
	for i := r.i; i < len(s); i++ {
		switch s[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				r.i = i + 1
				return
			}
		case '"':
			i, _ = stringEnd(s, i+1)
		}
	}
	r.bad = true
}

func (r *Reader) space() {
	for r.i < len(r.s) && r.s[r.i] <= ' ' {
		r.i++
	}
}

func delimits(c byte) bool {
	return c <= ' ' || c == ',' || c == ':' || c == '"' || c == '{' || c == '}' || c == '[' || c == ']'
}
