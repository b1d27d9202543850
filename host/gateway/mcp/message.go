package mcp

import (
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/abi/jsonstrict"
)

// refusal is the answer to a message that is not passed to the SDK. It contains the
// message's id if that can be parsed, so that the client does not wait forever.
type refusal struct {
	code    int64
	message string
	id      string // JSON
}

func (r *refusal) appendJSON(b []byte) []byte {
	o := jsonappend.Open(b)
	o.String("jsonrpc", "2.0")
	o.Raw("id", []byte(r.id))
	e := jsonappend.Open(o.Key("error"))
	e.Int("code", r.code)
	e.String("message", r.message)
	o.Value(e.Close())
	return o.Close()
}

// check refuses a message that is not strict JSON. The SDK would accept such messages; for
// example, it would use the last of two members of the same name.
func check(message []byte) *refusal {
	if err := jsonstrict.Check(message); err != nil {
		return &refusal{jsonrpc.CodeParseError, "the message is not strict JSON: " + err.Error(), idIn(message)}
	}
	return nil
}

func idIn(message []byte) string {
	if len(message) > MaxMessage || !gjson.ValidBytes(message) {
		return "null"
	}
	switch id := gjson.GetBytes(message, "id"); id.Type {
	case gjson.Number:
		return id.Raw
	case gjson.String:
		return string(jsonappend.String(nil, id.Str))
	}
	return "null"
}
