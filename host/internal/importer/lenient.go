package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/alchemy/json5"
)

// A document is the text of a JSON or JSON5 file as strict JSON, still with its
// duplicates and big numbers, and what is needed to say where in the file
// something stands.
type document struct {
	text  []byte // as found
	json  []byte // text itself when it was JSON
	json5 bool
	utf8  bool // false = invalid sequences of text became U+FFFD in json
}

// syntaxError is a text that is neither JSON nor JSON5.
type syntaxError struct {
	Line   int
	Reason string
}

func (e *syntaxError) Error() string { return e.Reason }

// parseLenient reads text as JSON, else as JSON5.
func parseLenient(text []byte) (*document, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if json.Valid(text) {
		return &document{text: text, json: text, utf8: true}, nil
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, &syntaxError{Line: 1, Reason: "the file is empty"}
	}
	var raw json.RawMessage
	err := json5.Unmarshal(text, &raw)
	if err == nil && !json.Valid(raw) { // a word as a value passes until it is read as one
		var v any
		if err = json5.Unmarshal(text, &v); err == nil {
			err = errors.New("there is a number that JSON cannot express")
		}
	}
	if err != nil {
		bad := &json5.SyntaxError{}
		errors.As(err, &bad)
		offset := min(max(int(bad.Offset), 0), len(text))
		return nil, &syntaxError{Line: lineAt(text, offset), Reason: "is neither JSON nor JSON5: " + plainReason(text, offset, err)}
	}
	return &document{text: text, json: raw, json5: true, utf8: utf8.Valid(text)}, nil
}

// plainReason prefers the standard library's words, which name the character,
// where it got as far as the JSON5 reader.
func plainReason(text []byte, offset int, err error) string {
	var strict *json.SyntaxError
	if e := json.Unmarshal(text, new(json.RawMessage)); errors.As(e, &strict) && strict.Offset >= int64(offset) {
		return fmt.Sprintf("%v, at byte %d", strict, strict.Offset)
	}
	return err.Error()
}

// lineAt returns the 1-based line of an offset.
func lineAt(text []byte, offset int) int { return 1 + bytes.Count(text[:offset], []byte("\n")) }

// locator finds lines for offsets into a document's json that only grow.
type locator struct {
	doc  *document
	from int // everything before has been counted
	line int
}

func (d *document) locator() *locator { return &locator{doc: d, line: 1} }

// at returns the line of the member name whose text ends at offset in the
// document's json. JSON5 is read through a conversion that has no positions:
// there it is the line of the next mention of the name, or 0.
func (l *locator) at(offset int, name string) int {
	text := l.doc.text
	if l.doc.json5 {
		if offset = mention(text[l.from:], name); offset < 0 {
			return 0
		}
		offset += l.from
	}
	if offset > l.from {
		l.line += bytes.Count(text[l.from:offset], []byte("\n"))
		l.from = offset
	}
	return l.line
}

// mention returns the offset behind the first mention of a member name, quoted
// ones first.
func mention(text []byte, name string) int {
	for _, quoted := range [...]string{`"` + name + `"`, `'` + name + `'`, name} {
		if i := bytes.Index(text, []byte(quoted)); i >= 0 {
			return i + len(quoted)
		}
	}
	return -1
}
