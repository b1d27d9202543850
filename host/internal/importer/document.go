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

// A document is a JSON or JSON5 file converted to JSON, with the original text to
// locate members in the file. It keeps duplicate members and large numbers.
type document struct {
	text     []byte // of the file
	json     []byte // the same as text if that is JSON
	json5    bool
	replaced bool // json has U+FFFD for the invalid UTF-8 of text
}

// syntaxError describes why a text is neither JSON nor JSON5.
type syntaxError struct {
	Line   int
	Reason string
}

func (e *syntaxError) Error() string { return e.Reason }

// parseLenient parses text as JSON, and if that fails as JSON5.
func parseLenient(text []byte) (*document, *syntaxError) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if json.Valid(text) {
		return &document{text: text, json: text}, nil
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, &syntaxError{Line: 1, Reason: "the file is empty"}
	}
	var raw json.RawMessage
	err := json5.Unmarshal(text, &raw)
	if err == nil && !json.Valid(raw) { // RawMessage accepts any word as a value; decode to check it
		var v any
		if err = json5.Unmarshal(text, &v); err == nil {
			err = errors.New("a number cannot be expressed in JSON")
		}
	}
	if err != nil {
		bad := &json5.SyntaxError{}
		errors.As(err, &bad)
		offset := min(max(int(bad.Offset), 0), len(text))
		return nil, &syntaxError{Line: lineAt(text, offset), Reason: "is neither JSON nor JSON5: " + plainReason(text, offset, err)}
	}
	return &document{text: text, json: raw, json5: true, replaced: !utf8.Valid(text)}, nil
}

// plainReason prefers encoding/json's error, which names the character, unless that
// error is at an earlier position than the JSON5 parser's.
func plainReason(text []byte, offset int, err error) string {
	var strict *json.SyntaxError
	if e := json.Unmarshal(text, new(json.RawMessage)); errors.As(e, &strict) && strict.Offset >= int64(offset) {
		return fmt.Sprintf("%v, at byte %d", strict, strict.Offset)
	}
	return err.Error()
}

// lineAt returns the 1-based line of an offset.
func lineAt(text []byte, offset int) int { return 1 + bytes.Count(text[:offset], []byte("\n")) }

// locator converts increasing offsets in a document's json to line numbers.
type locator struct {
	doc  *document
	from int // offset in text up to which lines have been counted
	line int // at from
}

func (d *document) locator() *locator { return &locator{doc: d, line: 1} }

// at returns the line of the member name that ends at offset in the document's json.
// The conversion from JSON5 loses positions; for JSON5, at returns the line of the
// next mention of the name, or 0.
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

// mention returns the offset after the first mention of a member name, or -1. It
// searches for the name in quotes first.
func mention(text []byte, name string) int {
	for _, quoted := range [...]string{`"` + name + `"`, `'` + name + `'`, name} {
		if i := bytes.Index(text, []byte(quoted)); i >= 0 {
			return i + len(quoted)
		}
	}
	return -1
}

// members calls fn for each member of the object in doc, which must be valid JSON, in
// order and including duplicates. Values are slices of doc and are not copied. end is
// the offset after the name. members returns false if doc is not an object.
func members(doc []byte, fn func(name string, value []byte, end int)) bool {
	// The string shares the memory of doc, which does not change during the call.
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

// unquote decodes a member name. It keeps invalid UTF-8 in a name without escapes, so
// that the check of session keys rejects the name.
func unquote(quoted string) (name string) {
	if strings.Contains(quoted, `\`) && json.Unmarshal([]byte(quoted), &name) == nil {
		return name
	}
	return strings.Clone(quoted[1 : len(quoted)-1])
}

// maxDocument is the size limit of files that are read whole: sessions.json,
// runs.json, openclaw.json.
const maxDocument = 512 << 20

// readFile reads a regular file in root. It refuses a file larger than maxDocument.
func readFile(root *os.Root, name string) ([]byte, error) {
	f, size, err := open(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size > maxDocument {
		return nil, fmt.Errorf("has %d bytes; the limit is %d", size, maxDocument)
	}
	text := make([]byte, size)
	n, err := io.ReadFull(f, text)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = nil // the file shrank after Stat
	}
	return text[:n], err
}
