package relational

import (
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonobject"
)

// decodeSession decodes a session that abi.Session.AppendJSON encoded.
func decodeSession(data string) abi.Session {
	var s abi.Session
	s.ReadJSON(gjson.Parse(data), jsonobject.Tolerant)
	return s
}

// decodeMessage decodes a message from its row. truncations is the JSON array of
// messageRow.encodedTruncations, or empty.
func decodeMessage(id int64, body, truncations string) abi.Message {
	m := abi.Message{Seq: seqOf(id), JSON: []byte(body)}
	if truncations != "" {
		jsonobject.Items(&m.Truncations).ReadJSON(gjson.Parse(truncations), jsonobject.Tolerant)
	}
	return m
}
