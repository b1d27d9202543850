package transcript

import (
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/abi/jsonstrict"
	"github.com/parley-wasm/parley/plugin/internal/redact"
	"github.com/parley-wasm/parley/plugin/internal/view"
)

// maxKept is the length of the longest role, id or timestamp in a placeholder.
const maxKept = 128

// AppendPlaceholder appends the replacement for a message that is too large or malformed: the
// message's role, id and timestamp, a text with its size, and the members omitted and bytes
// as in an image block.
func AppendPlaceholder(dst []byte, m *abi.Message) []byte {
	size := int64(len(m.JSON))
	for i := range m.Truncations {
		if m.Truncations[i].Path == "" {
			size = m.Truncations[i].Bytes
		}
	}
	role, id, timestamp := `"unknown"`, "", ""
	if v := gjson.Parse(view.String(m.JSON)); v.IsObject() && jsonstrict.Check(m.JSON) == nil {
		v.ForEach(func(name, v gjson.Result) bool {
			text := v.Type == gjson.String
			switch {
			case len(v.Raw) > maxKept, text && holdsSecret(v.Str):
			case name.Str == "role" && text:
				role = v.Raw
			case name.Str == "id" && text:
				id = v.Raw
			case name.Str == "timestamp" && (text || v.Type == gjson.Number):
				timestamp = v.Raw
			}
			return true
		})
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

func holdsSecret(text string) bool {
	_, found := redact.Next(text, 0, len(text))
	return found
}
