package transcript

import (
	"strconv"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/plugin/jsonread"
	"github.com/parley-wasm/parley/plugin/view"
)

// maxKept is the length of the longest role, id or timestamp in a placeholder.
const maxKept = 128

// AppendPlaceholder appends what takes the place of a message that is too large
// to show: its role, id and timestamp, a text that says how large it was, and
// omitted and bytes as for an image.
func AppendPlaceholder(dst []byte, m *abi.Message) []byte {
	size := int64(len(m.JSON))
	for i := range m.Cut {
		if m.Cut[i].Path == "" {
			size = m.Cut[i].Bytes
		}
	}
	role, id, timestamp := `"unknown"`, "", ""
	r := jsonread.New(view.String(m.JSON))
	if r.Peek() == '{' && r.Object() {
		for r.Member() {
			c := r.Peek()
			name, raw := r.Name(), r.Skip()
			if len(raw) > maxKept || c != '"' && c != '-' && (c < '0' || c > '9') {
				continue
			}
			switch {
			case name == "role" && c == '"':
				role = raw
			case name == "id" && c == '"':
				id = raw
			case name == "timestamp":
				timestamp = raw
			}
		}
	}
	o := jsonappend.Open(dst)
	o.Raw("role", view.Bytes(role))
	o.OptRaw("id", view.Bytes(id))
	o.OptRaw("timestamp", view.Bytes(timestamp))
	b := append(o.Key("content"), `[{"type":"text","text":"[message of `...)
	b = strconv.AppendInt(b, size, 10)
	o.Value(append(b, ` bytes left out: too large to show]"}]`...))
	o.Bool("omitted", true)
	o.Int("bytes", size)
	return o.Close()
}
