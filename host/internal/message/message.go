// Package message converts raw transcript messages for the store and stored messages
// for the guest.
//
// Normalize prepares a message for the store: it repairs a JSON object where it
// violates strict JSON and keeps all other bytes. Shorten prepares a stored message for
// the guest. It returns messages of up to abi.MaxString bytes (nearly all messages)
// unchanged. In longer messages it truncates long strings, so that no message adds more
// than abi.MaxMessage bytes to the guest's memory. Stored messages are never truncated.
package message

import (
	"bytes"
	"math"
	"time"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonstrict"
)

// MaxDepth is the maximum nesting of a message. It is below abi.MaxDepth because store
// replies and tool results wrap messages in up to six levels and must stay within
// abi.MaxDepth themselves.
const MaxDepth = abi.MaxDepth - 8

// maxRole bounds a role, in bytes.
const maxRole = 64

// Normalize returns the message to store: a strict JSON object without surrounding
// white space. r counts the repairs; without repairs, the result shares raw's memory.
// The error is a *jsonstrict.Error with the offset in raw: not JSON, not an object, or
// nested deeper than MaxDepth.
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

// Role returns the message's role, or "" if it has no valid one.
func Role(doc []byte) string {
	r := gjson.GetBytes(doc, "role")
	if r.Type != gjson.String || len(r.Str) > maxRole {
		return ""
	}
	return r.Str
}

// Timestamp returns the message's time in milliseconds since the Unix epoch. It reads
// the member timestamp, a number of milliseconds or an RFC 3339 text, and returns 0
// if the member is missing, invalid or before 1970.
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
