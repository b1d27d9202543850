package message_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonstrict"
	"github.com/parley-wasm/parley/host/internal/message"
)

func TestNormalize(t *testing.T) {
	for _, c := range []struct {
		name, raw, want string
		repairs         jsonstrict.Report
		err             string
	}{
		{name: "kept", raw: `{ "role" : "user", "n":[1, 2] }`, want: `{ "role" : "user", "n":[1, 2] }`},
		{name: "white space around", raw: " \t{}\r\n", want: `{}`},
		{name: "repaired", raw: "\n{\"a\":\"\xff\",\"n\":1e30,\"a\":\"\\ud800\"} ", want: "{\"n\":\"1e30\",\"a\":\"\ufffd\"}",
			repairs: jsonstrict.Report{UTF8: 1, Surrogates: 1, Numbers: 1, Duplicates: 1}},
		{name: "byte order mark", raw: "\ufeff {}", want: `{}`, repairs: jsonstrict.Report{ByteOrderMarks: 1}},
		{name: "empty", raw: "", err: "byte 0: document is empty"},
		{name: "unterminated string", raw: `{"role":"us`, err: "byte 8: string without an end"},
		{name: "array", raw: ` [{}]`, err: "byte 1: a message is a JSON object"},
		{name: "array to repair", raw: " [1e30]", err: "byte 1: a message is a JSON object"},
		{name: "text", raw: `"x"`, err: "byte 0: a message is a JSON object"},
		{name: "null", raw: `null`, err: "byte 0: a message is a JSON object"},
		{name: "number to repair", raw: `1e30`, err: "byte 0: a message is a JSON object"},
		{name: "two", raw: `{}{}`, err: "byte 2: trailing data after the document"},
		{name: "deepest", raw: nested(message.MaxDepth), want: nested(message.MaxDepth)},
		{name: "too deep", raw: nested(message.MaxDepth + 1), err: "byte 280: nested deeper than 56 levels"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, repairs, err := message.Normalize([]byte(c.raw))
			if c.err != "" {
				var e *jsonstrict.Error
				if !errors.As(err, &e) || !errors.Is(err, abi.InvalidArgs) || err.Error() != c.err {
					t.Errorf("got error %v, want %s", err, c.err)
				}
				if got != nil || !repairs.IsZero() {
					t.Errorf("got %s and %v besides the error", got, repairs)
				}
				return
			}
			if err != nil || string(got) != c.want || repairs != c.repairs {
				t.Errorf("got  %s, %v, %v\nwant %s, %v", got, repairs, err, c.want, c.repairs)
			}
		})
	}
}

// nested returns an object of n levels.
func nested(n int) string {
	return strings.Repeat(`{"a":`, n-1) + "{}" + strings.Repeat("}", n-1)
}

// TestDeepestMessageFits checks that the deepest message fits into the deepest replies.
func TestDeepestMessageFits(t *testing.T) {
	m := abi.Message{Seq: 1, JSON: []byte(nested(message.MaxDepth)), Truncations: []abi.Truncation{{}}}
	list := abi.ListPage{Rows: []abi.ListRow{{Messages: []abi.Message{m}}}}
	history := abi.HistoryPage{Messages: []abi.Message{m}}
	for _, reply := range [][]byte{abi.AppendReply(nil, &list), abi.AppendReply(nil, &history)} {
		if err := jsonstrict.CheckDepth(reply, abi.MaxDepth-2); err != nil {
			t.Error(err)
		}
	}
}

func TestRole(t *testing.T) {
	for doc, want := range map[string]string{
		`{"role":"toolResult"}`:      "toolResult",
		`{"content":{"role":"x"}}`:   "",
		`{"role":"\u0075ser","x":1}`: "user",
		`{"Role":"user"}`:            "",
		`{"role":7}`:                 "",
		`{"role":null}`:              "",
		`{}`:                         "",
		`{"role":"` + strings.Repeat("r", 64) + `"}`: strings.Repeat("r", 64),
		`{"role":"` + strings.Repeat("r", 65) + `"}`: "",
	} {
		if got := message.Role([]byte(doc)); got != want {
			t.Errorf("%s: got %q, want %q", doc, got, want)
		}
	}
}

func TestTimestamp(t *testing.T) {
	for doc, want := range map[string]int64{
		`{"timestamp":1767225600000}`:                  1767225600000,
		`{"timestamp":1767225600000.9}`:                1767225600000,
		`{"timestamp":1.7672256e12}`:                   1767225600000,
		`{"timestamp":"2026-01-01T00:00:00Z"}`:         1767225600000,
		`{"timestamp":"2026-01-01T01:00:00.25+01:00"}`: 1767225600250,
		`{"timestamp":9007199254740992}`:               9007199254740992,
		`{"timestamp":"1e400"}`:                        0,
		`{"timestamp":"1960-01-01T00:00:00Z"}`:         0,
		`{"timestamp":-5}`:                             0,
		`{"timestamp":true}`:                           0,
		`{"message":{"timestamp":5}}`:                  0,
		`{}`:                                           0,
	} {
		if got := message.Timestamp([]byte(doc)); got != want {
			t.Errorf("%s: got %d, want %d", doc, got, want)
		}
	}
}
