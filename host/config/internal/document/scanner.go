package document

import (
	"bytes"
	"errors"
	"fmt"
	"unicode"
	"unicode/utf8"

	"github.com/alchemy/json5"
)

// scanner parses a text that the library accepted. It fails if it cannot parse the text.
// Every call of value and name consumes input or fails.
type scanner struct {
	text []byte
	at   int
}

func (s *scanner) value(depth int) (*Node, error) {
	s.space()
	if depth >= MaxDepth {
		return nil, fmt.Errorf("the values are nested more than %d levels deep", MaxDepth)
	}
	if s.at >= len(s.text) {
		return nil, s.unexpected()
	}
	switch s.text[s.at] {
	case '{':
		return s.object(depth)
	case '[':
		return s.array(depth)
	}
	return s.scalar()
}

func (s *scanner) object(depth int) (*Node, error) {
	n := &Node{Kind: Object, Offset: s.at}
	s.at++
	for {
		s.space()
		if s.take('}') {
			return n, nil
		}
		m := Member{Offset: s.at}
		var err error
		if m.Name, err = s.name(); err != nil {
			return nil, err
		}
		if s.space(); !s.take(':') {
			return nil, s.unexpected()
		}
		if m.Value, err = s.value(depth + 1); err != nil {
			return nil, err
		}
		n.Members = append(n.Members, m)
		s.space()
		if !s.take(',') && !s.peek('}') {
			return nil, s.unexpected()
		}
	}
}

func (s *scanner) array(depth int) (*Node, error) {
	n := &Node{Kind: Array, Offset: s.at}
	s.at++
	for {
		s.space()
		if s.take(']') {
			return n, nil
		}
		item, err := s.value(depth + 1)
		if err != nil {
			return nil, err
		}
		n.Items = append(n.Items, item)
		s.space()
		if !s.take(',') && !s.peek(']') {
			return nil, s.unexpected()
		}
	}
}

// name reads a member's name: a string or an identifier. For an identifier with escapes, it
// makes the library decode an object that has only this member.
func (s *scanner) name() (string, error) {
	if s.peek('"') || s.peek('\'') {
		n, err := s.scalar()
		if err != nil {
			return "", err
		}
		return n.String, nil
	}
	raw := s.token()
	if len(raw) == 0 {
		return "", s.unexpected()
	}
	if !bytes.ContainsRune(raw, '\\') {
		return string(raw), nil
	}
	var decoded map[string]any
	if err := json5.Unmarshal(fmt.Appendf(nil, "{%s:0}", raw), &decoded); err != nil {
		return "", err
	}
	for name := range decoded {
		return name, nil
	}
	return "", s.unexpected()
}

func (s *scanner) scalar() (*Node, error) {
	n := &Node{Offset: s.at}
	raw := s.token()
	if len(raw) == 0 {
		return nil, s.unexpected()
	}
	var v any
	if err := json5.Unmarshal(raw, &v); err != nil {
		s.at = n.Offset
		return nil, err
	}
	switch v := v.(type) {
	case nil:
		n.Kind = Null
	case bool:
		n.Kind, n.Bool = Bool, v
	case float64:
		n.Kind, n.Number = Number, v
	case string:
		// The library decodes each half of an escaped surrogate pair to U+FFFD.
		if i := surrogate(raw); i >= 0 {
			s.at = n.Offset + i
			return nil, errors.New("this escape is half of a surrogate pair; write the character itself")
		}
		n.Kind, n.String = String, v
	default:
		s.at = n.Offset
		return nil, s.unexpected()
	}
	return n, nil
}

// token consumes a string with its quotes, or all bytes up to the next white space,
// comment or punctuation.
func (s *scanner) token() []byte {
	start := s.at
	if s.peek('"') || s.peek('\'') {
		quote := s.text[s.at]
		for s.at++; s.at < len(s.text) && s.text[s.at] != quote; s.at++ {
			if s.text[s.at] == '\\' {
				s.at++
			}
		}
		s.at = min(s.at+1, len(s.text))
		return s.text[start:s.at]
	}
	for s.at < len(s.text) && bytes.IndexByte([]byte(`{}[]:,"'/`), s.text[s.at]) < 0 {
		r, size := utf8.DecodeRune(s.text[s.at:])
		if isSpace(r) {
			break
		}
		s.at += size
	}
	return s.text[start:s.at]
}

// space skips white space and comments.
func (s *scanner) space() {
	for s.at < len(s.text) {
		rest := s.text[s.at:]
		switch {
		case bytes.HasPrefix(rest, []byte("//")):
			end := bytes.IndexFunc(rest, isLineEnd)
			if end < 0 {
				end = len(rest)
			}
			s.at += end
		case bytes.HasPrefix(rest, []byte("/*")):
			end := bytes.Index(rest[2:], []byte("*/"))
			if end < 0 {
				return
			}
			s.at += end + 4
		default:
			r, size := utf8.DecodeRune(rest)
			if !isSpace(r) {
				return
			}
			s.at += size
		}
	}
}

func (s *scanner) peek(c byte) bool { return s.at < len(s.text) && s.text[s.at] == c }

func (s *scanner) take(c byte) bool {
	if !s.peek(c) {
		return false
	}
	s.at++
	return true
}

func (s *scanner) unexpected() error {
	if s.at >= len(s.text) {
		return errors.New("unexpected end of input")
	}
	r, _ := utf8.DecodeRune(s.text[s.at:])
	return fmt.Errorf("unexpected %q", r)
}

func isSpace(r rune) bool {
	switch r {
	case '\t', '\n', '\v', '\f', '\r', '\uFEFF', '\u2028', '\u2029':
		return true
	}
	return unicode.Is(unicode.Zs, r)
}

func isLineEnd(r rune) bool {
	return r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029'
}

// surrogate returns the index of the first escape \uD800 to \uDFFF in a string literal,
// or -1.
func surrogate(raw []byte) int {
	for i := 0; i+3 < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		if raw[i+1] == 'u' && (raw[i+2] == 'd' || raw[i+2] == 'D') && bytes.IndexByte([]byte("89abcdefABCDEF"), raw[i+3]) >= 0 {
			return i
		}
		i++ // the escaped character, which may be a backslash
	}
	return -1
}
