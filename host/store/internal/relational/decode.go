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

// decodeMessage decodes a message from its row. cut is the JSON array of
// messageRow.encodedCut, or empty.
func decodeMessage(id int64, body, cut string) abi.Message {
	m := abi.Message{Seq: seqOf(id), JSON: []byte(body)}
	if cut != "" {
		jsonobject.Items(&m.Cut).ReadJSON(gjson.Parse(cut), jsonobject.Tolerant)
	}
	return m
}
