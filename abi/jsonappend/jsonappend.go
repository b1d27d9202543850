// Package jsonappend writes JSON by appending to a byte slice. Guest and host write the
// ABI's messages with it: no reflection, no intermediate values, one growing buffer.
package jsonappend

import (
	"strconv"
	"unicode/utf8"
)

const hex = "0123456789abcdef"

// String appends s as a JSON string. Bytes that are not valid UTF-8 become
// U+FFFD, so that the output is always valid JSON.
func String(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := PlainEnd(s, 0); i < len(s); i = PlainEnd(s, i) {
		if c := s[i]; c < utf8.RuneSelf {
			b = appendEscape(append(b, s[start:i]...), c)
			i++
			start = i
		}
		for i < len(s) && s[i] >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				b = append(append(b, s[start:i]...), "\uFFFD"...)
				start = i + 1
			}
			i += size
		}
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

func appendEscape(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	}
	return append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xF])
}

// Object appends members to a JSON object. The zero value is not usable: the caller
// must start with Open and end with Close.
//
//	o := jsonappend.Open(b)
//	o.String("key", key)
//	b = o.Close()
//
// The Opt methods omit zero values, as the ABI does for absent members.
type Object struct {
	b     []byte
	comma bool
}

// Open starts an object at the end of b.
func Open(b []byte) Object { return Object{b: append(b, '{')} }

// Close ends the object and returns the buffer.
func (o *Object) Close() []byte { return append(o.b, '}') }

// Key appends a member's name. The caller must append the value to the returned buffer
// and pass the buffer to Value.
func (o *Object) Key(name string) []byte {
	if o.comma {
		o.b = append(o.b, ',')
	}
	o.comma = true
	o.b = String(o.b, name)
	return append(o.b, ':')
}

// Value ends a member. b is the buffer that Key returned, with the value appended.
func (o *Object) Value(b []byte) { o.b = b }

// String appends a string member.
func (o *Object) String(name, v string) { o.Value(String(o.Key(name), v)) }

// Int appends a number member.
func (o *Object) Int(name string, v int64) { o.Value(strconv.AppendInt(o.Key(name), v, 10)) }

// Bool appends a boolean member.
func (o *Object) Bool(name string, v bool) { o.Value(strconv.AppendBool(o.Key(name), v)) }

// Raw appends a member whose value is JSON text.
func (o *Object) Raw(name string, v []byte) { o.Value(append(o.Key(name), v...)) }

// Strings appends an array of strings; nil is an empty array.
func (o *Object) Strings(name string, v []string) { o.Value(Strings(o.Key(name), v)) }

// OptString appends a string member unless v is empty.
func (o *Object) OptString(name, v string) {
	if v != "" {
		o.String(name, v)
	}
}

// OptInt appends a number member unless v is zero.
func (o *Object) OptInt(name string, v int64) {
	if v != 0 {
		o.Int(name, v)
	}
}

// OptBool appends a boolean member when v is true.
func (o *Object) OptBool(name string, v bool) {
	if v {
		o.Bool(name, v)
	}
}

// OptRaw appends a member whose value is JSON text, unless v is empty.
func (o *Object) OptRaw(name string, v []byte) {
	if len(v) > 0 {
		o.Raw(name, v)
	}
}

// OptStrings appends an array of strings unless v is nil.
func (o *Object) OptStrings(name string, v []string) {
	if v != nil {
		o.Strings(name, v)
	}
}

// Strings appends a JSON array of strings.
func Strings(b []byte, v []string) []byte {
	b = append(b, '[')
	for i, s := range v {
		if i > 0 {
			b = append(b, ',')
		}
		b = String(b, s)
	}
	return append(b, ']')
}
