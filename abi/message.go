package abi

import (
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi/jsonobject"
)

// Message is one transcript message in a reply of a host function.
type Message struct {
	Seq         int64        // position in the session's transcript, ascending
	JSON        []byte       // raw message object, truncated as Truncations describe
	Truncations []Truncation // strings that the host truncated
}

var messageMembers = jsonobject.New(
	jsonobject.Required("seq", whole, func(m *Message) any { return &m.Seq }),
	jsonobject.Required("message", object, func(m *Message) any { return &m.JSON }),
	jsonobject.Optional("cut", list, func(m *Message) any { return jsonobject.Items(&m.Truncations) }),
)

// ReadJSON reads the JSON that AppendJSON writes. JSON is a slice of the document.
func (m *Message) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return messageMembers.Read(v, m, mode)
}

// AppendJSON appends the message's JSON.
func (m *Message) AppendJSON(b []byte) []byte { return messageMembers.Append(b, m) }

// Truncation records that the JSON string at Path was longer than MaxString and that the
// message holds only its beginning. Path "" records that the whole message was longer
// than MaxMessage and is reduced to its role and timestamp.
type Truncation struct {
	Path  string // JSON Pointer (RFC 6901) into the message
	Bytes int64  // original length of the decoded string, or of the message
}

var truncationMembers = jsonobject.New(
	jsonobject.Required("path", text, func(t *Truncation) any { return &t.Path }),
	jsonobject.Required("bytes", whole, func(t *Truncation) any { return &t.Bytes }),
)

// ReadJSON reads the JSON that AppendJSON writes.
func (t *Truncation) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return truncationMembers.Read(v, t, mode)
}

// AppendJSON appends the truncation's JSON.
func (t *Truncation) AppendJSON(b []byte) []byte { return truncationMembers.Append(b, t) }
