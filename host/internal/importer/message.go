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

// holdBytes is from when on a message is not copied out of the line's buffer but
// committed before the next line is read.
const holdBytes = 1 << 20

// message takes the message of a line, whose text is normalised.
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
		r.problem(l.Number, BadMessage, "has no role, or no usable one; skipped")
		return false
	}
	if m.At == 0 {
		m.At = message.Timestamp(text)
	}
	m.SourceID = r.sourceID(l.Number, id, body)
	fixed.report(r.im.report, r.file, l.Number, "")
	if held = len(doc) > holdBytes; !held {
		m.JSON = bytes.Clone(doc)
	}
	r.im.writer.message(r.entry.Session.Key, m)
	r.taken++
	return held
}

// sourceID is what a message is known by when it is imported again: its line's
// id, or a digest of its content with how often that was there before.
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
			r.problem(line, DuplicateLine, "the id "+quote(v.Str)+" was there before; both are kept")
		}
	}
	return source
}
