package relational

import (
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonobject"
)

// decodeSession reads what abi.Session.AppendJSON wrote.
func decodeSession(data string) abi.Session {
	var s abi.Session
	s.ReadJSON(gjson.Parse(data), jsonobject.Tolerant)
	return s
}

// decodeMessage makes a message of its row. cut is empty, or an array as
// appendCut wrote it.
func decodeMessage(id int64, body, cut string) abi.Message {
	m := abi.Message{Seq: seqOf(id), JSON: []byte(body)}
	if cut != "" {
		jsonobject.Items(&m.Cut).ReadJSON(gjson.Parse(cut), jsonobject.Tolerant)
	}
	return m
}
