// Package document reads a JSON5 text into a tree that still knows where each
// value stands, and every member as it was written: repeated names stay in the
// tree, so that a reader can refuse them.
//
// The json5 library decides what JSON5 is and decodes names, strings and
// numbers. It forgets places and repetitions, so a second pass over the text it
// accepted notes them.
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

// The kinds of value, named as people call them.
const (
	Null   Kind = "null"
	Bool   Kind = "a boolean"
	Number Kind = "a number"
	String Kind = "a string"
	Array  Kind = "an array"
	Object Kind = "an object"
)

// Node is one value. Only the field of its kind is set.
type Node struct {
	Kind    Kind
	Offset  int // in bytes, where the value begins
	Bool    bool
	Number  float64 // may be infinite or NaN
	String  string
	Items   []*Node
	Members []Member // in the order of the text
}

// Member is one member of an object.
type Member struct {
	Name   string
	Offset int // of the name
	Value  *Node
}

// Document is a text with its tree.
type Document struct {
	Root *Node
	text []byte
}

// Error is a text that is no JSON5. Line and Column count from 1, columns in
// characters.
type Error struct {
	Line, Column int
	Message      string
}

func (e *Error) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
}

// Parse reads the text. It fails with an *Error.
func Parse(text []byte) (*Document, error) {
	d := &Document{text: text}
	if len(text) > MaxBytes {
		return nil, d.fail(MaxBytes, fmt.Sprintf("the text is %d bytes long; at most %d are read", len(text), MaxBytes))
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

// Position returns line and column of an offset, both from 1.
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

// syntax puts the library's complaint in the form of ours. Its offset stands
// behind what it complains about, whose text it has not kept.
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
