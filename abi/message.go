package abi

import (
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi/jsonobject"
)

// Message is one transcript message in a reply of a host function.
type Message struct {
	Seq         int64        // position in the session's transcript, ascending
	JSON        []byte       // raw message object, truncated as Truncations say
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

// Truncation records that the JSON string at Path was longer than MaxString, and
// the message holds only its beginning. A message that is still longer than MaxMessage
// is reduced to its role and timestamp, with the Path "", the whole document.
type Truncation struct {
	Path  string // JSON Pointer (RFC 6901) into the message
	Bytes int64  // original length of the decoded string, or of the message
}

var cutMembers = jsonobject.New(
	jsonobject.Required("path", text, func(c *Truncation) any { return &c.Path }),
	jsonobject.Required("bytes", whole, func(c *Truncation) any { return &c.Bytes }),
)

// ReadJSON reads the JSON that AppendJSON writes.
func (c *Truncation) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return cutMembers.Read(v, c, mode)
}

// AppendJSON appends the truncation's JSON.
func (c *Truncation) AppendJSON(b []byte) []byte { return cutMembers.Append(b, c) }
