// Package document parses JSON5 into a tree with the offset of each value. The tree keeps
// duplicate members, so that a reader of the tree can report them.
//
// The json5 library defines the syntax and decodes names, strings and numbers. The library
// discards offsets and duplicates, so a scanner reads the accepted text again and collects
// them.
package document

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/alchemy/json5"
)

// Limits of a text.
const (
	MaxBytes = 1 << 20
	MaxDepth = 64
)

// Kind is the kind of a value.
type Kind string

// The kinds of values, with the texts that messages use.
const (
	Null   Kind = "null"
	Bool   Kind = "a boolean"
	Number Kind = "a number"
	String Kind = "a string"
	Array  Kind = "an array"
	Object Kind = "an object"
)

// Node is one value. Besides Kind and Offset, only the field for the kind is set.
type Node struct {
	Kind    Kind
	Offset  int // of the value's first byte
	Bool    bool
	Number  float64 // may be infinite or NaN
	String  string
	Items   []*Node
	Members []Member // in the order of the text, including duplicates
}

// Member is one member of an object.
type Member struct {
	Name   string
	Offset int // of the name
	Value  *Node
}

// Document is a parsed text and its tree.
type Document struct {
	Root *Node
	text []byte
}

// Error is a syntax error. Line and Column count from 1; Column counts characters.
type Error struct {
	Line, Column int
	Message      string
}

func (e *Error) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
}

// Parse parses a text. Its error is an *Error.
func Parse(text []byte) (*Document, error) {
	d := &Document{text: text}
	if len(text) > MaxBytes {
		return nil, d.fail(MaxBytes, fmt.Sprintf("the text is %d bytes long; the limit is %d", len(text), MaxBytes))
	}
	if i := invalidUTF8(text); i >= 0 {
		return nil, d.fail(i, "this is not valid UTF-8")
	}
	var ignored any
	if err := json5.Unmarshal(text, &ignored); err != nil {
		return nil, d.syntax(err)
	}
	s := &scanner{text: text}
	root, err := s.value(0)
	if err == nil {
		if s.space(); s.at < len(text) {
			err = s.unexpected()
		}
	}
	if err != nil {
		return nil, d.fail(s.at, err.Error())
	}
	d.Root = root
	return d, nil
}

// Position returns the line and column of an offset, both from 1.
func (d *Document) Position(offset int) (line, column int) {
	before := string(d.text[:min(max(offset, 0), len(d.text))])
	line = 1 + strings.Count(before, "\n")
	return line, 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
}

func (d *Document) fail(offset int, message string) error {
	e := &Error{Message: message}
	e.Line, e.Column = d.Position(offset)
	return e
}

// syntax converts an error of the library into an *Error. The library's offset is the one
// after the unexpected character, and the library's message does not quote the character.
func (d *Document) syntax(err error) error {
	var s *json5.SyntaxError
	if !errors.As(err, &s) {
		return d.fail(0, strings.TrimPrefix(err.Error(), "json5: "))
	}
	at := int(s.Offset)
	message := strings.TrimSuffix(s.Error(), fmt.Sprintf(" (offset %d)", s.Offset))
	message = strings.TrimPrefix(message, "json5: ")
	switch {
	case !strings.HasSuffix(message, ` ""`):
	case at >= len(d.text):
		message = "unexpected end of input"
	case at > 0:
		at--
		message = fmt.Sprintf("unexpected %q", d.text[at])
	}
	return d.fail(at, message)
}

func invalidUTF8(text []byte) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}
