package importer

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/host/internal/message"
	"github.com/parley-wasm/parley/host/store"
)

// maxCopied is the size of the largest message that is copied from the line's buffer. A
// larger one is committed before the next line is read.
const maxCopied = 1 << 20

// message passes the message of a line to the writer. text is the line's normalised JSON.
// message returns true if the writer refers to the line's buffer.
func (r *reader) message(l line, text, id, body []byte, fixed repairs) (held bool) {
	if len(body) == 0 || body[0] != '{' {
		r.problem(l.Number, BadMessage, "has no message object; skipped")
		return false
	}
	doc, more, err := message.Normalize(body)
	if err != nil {
		r.problem(l.Number, BadMessage, err.Error()+"; skipped")
		return false
	}
	fixed.Add(more)
	m := store.Message{Role: message.Role(doc), At: message.Timestamp(doc), JSON: doc}
	if m.Role == "" {
		r.problem(l.Number, BadMessage, "has no valid role; skipped")
		return false
	}
	if m.At == 0 {
		m.At = message.Timestamp(text)
	}
	m.SourceID = r.sourceID(l.Number, id, body)
	fixed.report(r.im.report, r.file, l.Number, "")
	if held = len(doc) > maxCopied; !held {
		m.JSON = bytes.Clone(doc)
	}
	r.im.writer.message(r.entry.Session.Key, m)
	r.messages++
	return held
}

// sourceID returns the id that identifies a message in repeated imports: its line's
// id, or a digest of its content. Later lines with the same id or content get the
// suffix #2, #3 and so on.
func (r *reader) sourceID(line int, id, body []byte) string {
	v := gjson.ParseBytes(id)
	named := v.Type == gjson.String && v.Str != ""
	var sum [32]byte
	if named {
		sum = sha256.Sum256([]byte("id:" + v.Str))
	} else {
		sum = sha256.Sum256(body)
	}
	key := [16]byte(sum[:16])
	r.ids[key]++
	n := r.ids[key]
	source := "~" + hex.EncodeToString(key[:])
	if named && len(v.Str) <= 128 && v.Str[0] != '~' {
		source = v.Str
	}
	if n > 1 {
		source += "#" + strconv.Itoa(n)
		if named {
			r.problem(line, DuplicateLine, "the id "+quote(v.Str)+" occurred before; both messages are kept")
		}
	}
	return source
}
