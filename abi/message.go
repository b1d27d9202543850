package abi

import (
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi/jsonobject"
)

// Message is one transcript message as a host function gives it to the plugin.
type Message struct {
	Seq  int64  // position in the session's transcript, growing
	JSON []byte // the raw message object, less what Cut names
	Cut  []Cut  // what the host shortened
}

var messageMembers = jsonobject.New(
	jsonobject.Required("seq", whole, func(m *Message) any { return &m.Seq }),
	jsonobject.Required("message", object, func(m *Message) any { return &m.JSON }),
	jsonobject.Optional("cut", list, func(m *Message) any { return jsonobject.Items(&m.Cut) }),
)

// ReadJSON reads what AppendJSON wrote. JSON is a part of the document that is read.
func (m *Message) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return messageMembers.Read(v, m, mode)
}

// AppendJSON appends the message's JSON.
func (m *Message) AppendJSON(b []byte) []byte { return messageMembers.Append(b, m) }

// Cut says that the JSON string at Path was longer than MaxString and holds only
// its beginning. A message that stays over MaxMessage is emptied but for its
// role and timestamp, and its Path is "", the whole document.
type Cut struct {
	Path  string // JSON Pointer (RFC 6901) into the message
	Bytes int64  // length before the cut: of the decoded string, or of the message
}

var cutMembers = jsonobject.New(
	jsonobject.Required("path", text, func(c *Cut) any { return &c.Path }),
	jsonobject.Required("bytes", whole, func(c *Cut) any { return &c.Bytes }),
)

// ReadJSON reads what AppendJSON wrote.
func (c *Cut) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return cutMembers.Read(v, c, mode)
}

// AppendJSON appends the cut's JSON.
func (c *Cut) AppendJSON(b []byte) []byte { return cutMembers.Append(b, c) }
