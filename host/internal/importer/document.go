package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/alchemy/json5"
	"github.com/tidwall/gjson"
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
func parseLenient(text []byte) (*document, *syntaxError) {
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

// members calls fn for each member of the object in doc, which is valid JSON,
// in order; duplicates are duplicates. Values are parts of doc, however long they
// are. end is the offset behind the name. It reports false if doc is no object.
func members(doc []byte, fn func(name string, value []byte, end int)) bool {
	// The string shares the memory of doc, which nobody changes meanwhile.
	object := gjson.Parse(unsafe.String(unsafe.SliceData(doc), len(doc)))
	if !object.IsObject() {
		return false
	}
	object.ForEach(func(name, value gjson.Result) bool {
		fn(unquote(name.Raw), doc[value.Index:value.Index+len(value.Raw)], name.Index+len(name.Raw))
		return true
	})
	return true
}

// unquote decodes a member name. Bytes that are not UTF-8 stay in one without
// escapes, so that whoever checks the name sees them.
func unquote(quoted string) (name string) {
	if strings.Contains(quoted, `\`) && json.Unmarshal([]byte(quoted), &name) == nil {
		return name
	}
	return strings.Clone(quoted[1 : len(quoted)-1])
}

// maxDocument bounds a file that is read whole: sessions.json, runs.json,
// openclaw.json.
const maxDocument = 512 << 20

// readFile reads a regular file below root that is not too large.
func readFile(root *os.Root, name string) ([]byte, error) {
	f, size, err := open(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size > maxDocument {
		return nil, fmt.Errorf("has %d bytes; at most %d are read at once", size, maxDocument)
	}
	text := make([]byte, size)
	n, err := io.ReadFull(f, text)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = nil // it shrank meanwhile
	}
	return text[:n], err
}
