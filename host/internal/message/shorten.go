package message

import (
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/abi/jsonstrict"
)

// bounds are the lengths that Shorten keeps to, in bytes.
type bounds struct {
	whole   int   // documents up to this length are not looked at
	strings []int // allowed lengths of a decoded string, tried in this order
	message int   // length of the result and of its cuts' JSON together
}

var guest = bounds{
	whole:   abi.MaxString,
	strings: []int{abi.MaxString, 16 << 10, 4 << 10},
	message: abi.MaxMessage,
}

// Shorten returns a stored message as the guest gets it, with what was cut. doc
// is as Normalize returned it.
//
// A message of at most abi.MaxString bytes comes back as it is, without a scan.
// In a longer one each string whose decoded length is over abi.MaxString is
// replaced by the longest beginning within it that ends on a code point. If the
// message with the list of its cuts is then longer than abi.MaxMessage, all
// strings are cut at 16 KiB instead, then at 4 KiB. If that does not help
// either (many values, long member names), only role and timestamp are left, if
// the message has them and they are short, and the one Cut has the Path "".
//
// It takes time linear in doc's length, and memory bounded by abi.MaxMessage but
// for a role or timestamp that is longer itself. If nothing is cut, short is doc
// itself.
func Shorten(doc []byte) (short []byte, cut []abi.Cut) { return guest.shorten(doc) }

func (b *bounds) shorten(doc []byte) ([]byte, []abi.Cut) {
	if len(doc) <= b.whole {
		return doc, nil
	}
	for _, limit := range b.strings {
		s := scan{doc: doc, limit: limit, bound: b.message}
		if s.run() {
			return s.result()
		}
	}
	return strip(doc), []abi.Cut{{Bytes: int64(len(doc))}}
}

// maxKept is the length in bytes of the longest role or timestamp that stays in
// a message that is emptied.
const maxStripped = 128

// emptied returns what is left of a message that cannot be shortened.
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
	return []byte("{}") // doc is not what Normalize returned
}
