package message

import (
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/abi/jsonstrict"
)

// bounds are the size limits of Shorten, in bytes.
type bounds struct {
	whole   int   // documents up to this length are not scanned
	strings []int // maximum lengths of a decoded string, tried in this order
	message int   // maximum length of the result and the JSON of its truncations
}

var guest = bounds{
	whole:   abi.MaxString,
	strings: []int{abi.MaxString, 16 << 10, 4 << 10},
	message: abi.MaxMessage,
}

// Shorten returns a stored message in the form for the guest, and the list of its
// truncations. doc must be a result of Normalize.
//
// Shorten returns a message of at most abi.MaxString bytes unchanged, without scanning
// it. In a longer message, it replaces each string whose decoded length exceeds
// abi.MaxString by its longest prefix of whole code points within that limit. If the
// message and its list of truncations are still longer than abi.MaxMessage, Shorten
// truncates all strings at 16 KiB instead, then at 4 KiB. If the message is still too
// long (many values, long member names), the result has only the members role and
// timestamp, if they are short, and the list has one entry with the Path "".
//
// Shorten takes time linear in doc's length. Its memory is bounded by abi.MaxMessage
// and the lengths of role and timestamp. If nothing is truncated, short is doc itself.
func Shorten(doc []byte) (short []byte, truncated []abi.Truncation) { return guest.shorten(doc) }

func (b *bounds) shorten(doc []byte) ([]byte, []abi.Truncation) {
	if len(doc) <= b.whole {
		return doc, nil
	}
	for _, limit := range b.strings {
		s := scan{doc: doc, limit: limit, bound: b.message}
		if s.run() {
			return s.result()
		}
	}
	return strip(doc), []abi.Truncation{{Bytes: int64(len(doc))}}
}

// maxStripped bounds a role or timestamp that strip keeps, in bytes.
const maxStripped = 128

// strip reduces a message that cannot be shortened to its role and timestamp.
func strip(doc []byte) []byte {
	o := jsonappend.Open(nil)
	for _, name := range [...]string{"role", "timestamp"} {
		r := gjson.GetBytes(doc, name)
		if scalar := r.Type == gjson.String || r.Type == gjson.Number; scalar && len(r.Raw) <= maxStripped {
			o.Raw(name, []byte(r.Raw))
		}
	}
	if short := o.Close(); jsonstrict.Check(short) == nil {
		return short
	}
	return []byte("{}") // doc is not a result of Normalize
}
