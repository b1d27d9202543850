// Package message is how a raw transcript message enters a store and how it
// leaves one for the guest.
//
// It enters through Normalize: a JSON object, repaired where strict JSON is
// violated, else kept byte for byte. It leaves through Shorten: whole up to
// abi.MaxString bytes, which is nearly every message; longer ones are scanned,
// and their long strings cut, so that no message brings more than
// abi.MaxMessage bytes into the guest. What is stored is never shortened.
package message

import (
	"bytes"
	"math"
	"time"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonstrict"
)

// MaxDepth is the nesting allowed in a message. It is below abi.MaxDepth because
// replies of the store and results of tools enclose messages, up to six levels
// deep, and have to stay within that.
const MaxDepth = abi.MaxDepth - 8

// maxRole is the length in bytes of the longest text that is taken for a role.
const maxRole = 64

// Normalize returns the message as it is to be stored: strict JSON, an object,
// without white space around it. Unless something was repaired, which r counts,
// the bytes are those of raw, and share its memory. An err is a
// *jsonstrict.Error with the offset in raw: not JSON, not an object, or nested
// deeper than MaxDepth.
func Normalize(raw []byte) (json []byte, r jsonstrict.Report, err error) {
	json = raw
	if jsonstrict.CheckDepth(raw, MaxDepth) != nil {
		if json, r, err = jsonstrict.NormalizeDepth(nil, raw, MaxDepth); err != nil {
			return nil, r, err
		}
	}
	json = bytes.Trim(json, space)
	if json[0] != '{' {
		start := bytes.TrimLeft(bytes.TrimPrefix(raw, []byte("\ufeff")), space)
		return nil, jsonstrict.Report{}, &jsonstrict.Error{
			Offset: len(raw) - len(start),
			Reason: "a message is a JSON object",
		}
	}
	return json, r, nil
}

const space = " \t\r\n"

// Role returns the message's role, or "" if it has none that could be one.
func Role(doc []byte) string {
	r := gjson.GetBytes(doc, "role")
	if r.Type != gjson.String || len(r.Str) > maxRole {
		return ""
	}
	return r.Str
}

// Timestamp returns the message's time in milliseconds since the Unix epoch:
// its member timestamp, a number of milliseconds or an RFC 3339 text. It is 0 if
// there is none, or none after 1970.
func Timestamp(doc []byte) int64 {
	switch r := gjson.GetBytes(doc, "timestamp"); r.Type {
	case gjson.Number:
		if ms := math.Floor(r.Num); ms > 0 && ms <= abi.MaxSafeInteger {
			return int64(ms)
		}
	case gjson.String:
		if t, err := time.Parse(time.RFC3339, r.Str); err == nil {
			return max(0, t.UnixMilli())
		}
	}
	return 0
}
