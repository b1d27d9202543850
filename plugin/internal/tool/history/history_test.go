package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/plugin/guest"
	"github.com/parley-wasm/parley/plugin/guest/guesttest"
	"github.com/parley-wasm/parley/plugin/internal/render"
)

var operator = abi.Caller{Operator: true}

const key = "agent:main:cron:x"

func store(messages ...string) *guesttest.Store {
	s := &guesttest.Store{
		Sessions: []abi.Session{{Key: key, SessionID: "id-x"}, {Key: "agent:main:main", SessionID: "id-main"}},
		Messages: map[string][]abi.Message{},
	}
	for _, m := range messages {
		s.Messages[key] = append(s.Messages[key], abi.Message{JSON: []byte(m)})
	}
	return s
}

type result struct {
	SessionKey                                                             string
	Messages                                                               []json.RawMessage
	Truncated, DroppedMessages, ContentTruncated, ContentRedacted, HasMore bool
	Bytes                                                                  int
	Offset, NextOffset                                                     *int64
}

func call(t *testing.T, h guest.Host, args string) result {
	t.Helper()
	got, err := Call(h, &guest.Input{Caller: operator, Args: args}, []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	var r result
	if err := json.Unmarshal(got[1:], &r); err != nil {
		t.Fatalf("%v in %s", err, got)
	}
	size := len("[]")
	for i, m := range r.Messages {
		size += len(m)
		if i > 0 {
			size++
		}
	}
	if r.Bytes != size || size >= maxBytes {
		t.Errorf("S3.3 bytes = %d; size of messages %d, bound %d", r.Bytes, size, maxBytes)
	}
	if r.Truncated != (r.DroppedMessages || r.ContentTruncated) || r.HasMore != (r.NextOffset != nil) {
		t.Errorf("S3.3 %+v", r)
	}
	return r
}

func texts(r result) string {
	var out []string
	for _, m := range r.Messages {
		var v struct{ Content any }
		_ = json.Unmarshal(m, &v)
		out = append(out, fmt.Sprint(v.Content))
	}
	return strings.Join(out, " ")
}

func TestCall(t *testing.T) {
	h := store(`{"role":"user","content":"a"}`, `{"role":"assistant","content":"b","usage":{},"more":1}`)
	tests := []struct{ name, args, want string }{
		{"S3.3", `{"sessionKey":"` + key + `"}`, `{"sessionKey":"agent:main:cron:x","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b","more":1}],` +
			`"truncated":false,"droppedMessages":false,"contentTruncated":false,"contentRedacted":false,"bytes":75,"hasMore":false}`},
		{"S3.1 offset", `{"sessionKey":"id-x","offset":1}`, `{"sessionKey":"agent:main:cron:x","messages":[{"role":"user","content":"a"}],` +
			`"truncated":false,"droppedMessages":false,"contentTruncated":false,"contentRedacted":false,"bytes":31,"offset":1,"hasMore":false}`},
		{"S3.1 limit", `{"sessionKey":"cron:x","limit":1,"offset":0}`, `{"sessionKey":"agent:main:cron:x","messages":[{"role":"assistant","content":"b","more":1}],` +
			`"truncated":false,"droppedMessages":false,"contentTruncated":false,"contentRedacted":false,"bytes":45,"offset":0,"nextOffset":1,"hasMore":true}`},
		{"S3.3 no messages", `{"sessionKey":"main"}`, `{"sessionKey":"main","messages":[],` +
			`"truncated":false,"droppedMessages":false,"contentTruncated":false,"contentRedacted":false,"bytes":2,"hasMore":false}`},
		{"offset beyond the end", `{"sessionKey":"cron:x","offset":9007199254740992}`, `{"sessionKey":"agent:main:cron:x","messages":[],` +
			`"truncated":false,"droppedMessages":false,"contentTruncated":false,"contentRedacted":false,"bytes":2,"offset":9007199254740992,"hasMore":false}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Call(h, &guest.Input{Caller: operator, Args: tt.args}, nil)
			if err != nil || string(got) != tt.want {
				t.Errorf("%v\n got %s\nwant %s", err, got, tt.want)
			}
		})
	}
}

func TestRequests(t *testing.T) {
	get := guesttest.Exchange{Request: `{"op":"get","sessionKey":"agent:main:main"}`, Reply: `{"ok":{"session":{"key":"agent:main:main","sessionId":"s"}}}`}
	for args, want := range map[string]string{
		`{"sessionKey":"main"}`:                                     `{"op":"history","sessionKey":"agent:main:main","limit":200,"excludeRoles":["toolResult","tool"],"maxBytes":262144}`,
		`{"sessionKey":"main","limit":0}`:                           `{"op":"history","sessionKey":"agent:main:main","limit":1,"excludeRoles":["toolResult","tool"],"maxBytes":262144}`,
		`{"sessionKey":"main","limit":5000,"includeTools":true}`:    `{"op":"history","sessionKey":"agent:main:main","limit":1000,"maxBytes":262144}`,
		`{"sessionKey":" main ","offset":3.9,"includeTools":false}`: `{"op":"history","sessionKey":"agent:main:main","skip":3,"limit":200,"excludeRoles":["toolResult","tool"],"maxBytes":262144}`,
	} {
		h := guesttest.NewScript(t, get, guesttest.Exchange{Request: want, Reply: `{"ok":{"messages":[],"more":false}}`})
		if _, err := Call(h, &guest.Input{Caller: operator, Args: args}, nil); err != nil {
			t.Errorf("S3.1 %s: %v", args, err)
		}
	}
}

func TestRefuses(t *testing.T) {
	caller := abi.Caller{SessionKey: "agent:main:main", AgentID: "main"}
	tests := []struct {
		args string
		code abi.Code
		want string
	}{
		{`{}`, abi.InvalidArgs, "sessionKey is required"},
		{`{"sessionKey":" "}`, abi.InvalidArgs, "sessionKey is required"},
		{`{"sessionKey":1}`, abi.InvalidArgs, "sessionKey must be a string"},
		{`{"sessionKey":"main","offset":-1}`, abi.InvalidArgs, "offset must be a number of at least 0"},
		{`{"sessionKey":"main","limit":"1"}`, abi.InvalidArgs, "limit must be a number"},
		{`{"sessionKey":"main","includeTools":1}`, abi.InvalidArgs, "includeTools must be true or false"},
		{`{"sessionKey":"main","x":1}`, abi.InvalidArgs, `unknown parameter "x"`},
		{`{"sessionKey":"a\nb"}`, abi.InvalidArgs, `sessionKey "a?b" contains control characters`},
		{`{"sessionKey":"cron:x"}`, abi.Forbidden, "tools.sessions.visibility"},
		{`{"sessionKey":"cron:none"}`, abi.Forbidden, "tools.sessions.visibility"},
		{`{"sessionKey":"id-x"}`, abi.NotFound, `"id-x"`},
	}
	for _, tt := range tests {
		_, err := Call(store(), &guest.Input{Caller: caller, Args: tt.args}, nil)
		if !errors.Is(err, tt.code) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("S0.1 %s: %v; want %s, %s", tt.args, err, tt.code, tt.want)
		}
	}
}

func TestIncludeTools(t *testing.T) {
	h := store(`{"role":"user","content":1}`, `{"role":"toolResult","content":2}`, `{"role":"tool","content":3}`, `{"role":"assistant","content":4}`)
	for args, want := range map[string]string{
		`{"sessionKey":"cron:x"}`:                                          "1 4",
		`{"sessionKey":"cron:x","includeTools":true}`:                      "1 2 3 4",
		`{"sessionKey":"cron:x","offset":1}`:                               "1",
		`{"sessionKey":"cron:x","includeTools":true,"offset":1,"limit":2}`: "2 3",
	} {
		if got := texts(call(t, h, args)); got != want {
			t.Errorf("S3.2 %s: %s; want %s", args, got, want)
		}
	}
}

func TestFlags(t *testing.T) {
	r := call(t, store(`{"content":"token=abc"}`), `{"sessionKey":"cron:x"}`)
	if !r.ContentRedacted || r.Truncated {
		t.Errorf("S3.4 %+v", r)
	}
	r = call(t, store(`{"content":"`+strings.Repeat("x", 4001)+`"}`, `{"content":"b"}`), `{"sessionKey":"cron:x"}`)
	if r.ContentRedacted || !r.ContentTruncated || r.DroppedMessages || !r.Truncated {
		t.Errorf("S3.4 %+v", r)
	}
	// A message that is not returned sets no flag.
	r = call(t, store(`{"content":"token=abc"}`, `{"content":"b"}`), `{"sessionKey":"cron:x","limit":1}`)
	if r.ContentRedacted || r.Truncated || !r.HasMore {
		t.Errorf("S3.4 %+v", r)
	}
}

// Paging with nextOffset returns every message once, whichever limit ends a page.
func TestPages(t *testing.T) {
	var messages []string
	var want []string
	for i := range 200 {
		messages = append(messages, fmt.Sprintf(`{"role":"user","content":"%d","pad":"%s"}`, i, strings.Repeat("x", 3000)))
		want = append(want, fmt.Sprint(i))
	}
	for _, limit := range []int{7, 200, 1000} {
		h, got, offset, pages := store(messages...), "", int64(0), 0
		for {
			r := call(t, h, fmt.Sprintf(`{"sessionKey":"cron:x","limit":%d,"offset":%d}`, limit, offset))
			got = texts(r) + " " + got
			pages++
			if !r.HasMore {
				break
			}
			if r.DroppedMessages != (len(r.Messages) < limit) {
				t.Errorf("S3.4 limit %d: dropped = %v with %d", limit, r.DroppedMessages, len(r.Messages))
			}
			offset = *r.NextOffset
		}
		if strings.TrimSpace(got) != strings.Join(want, " ") {
			t.Errorf("S3.3 limit %d: %d pages: %s", limit, pages, got)
		}
	}
}

// Most of the size of these messages is details, which the tool removes. One result therefore
// needs several pages from the host.
func TestHostPages(t *testing.T) {
	var messages []string
	for i := range 20 {
		messages = append(messages, fmt.Sprintf(`{"role":"user","content":"%d","details":"%s"}`, i, strings.Repeat("x", 60_000)))
	}
	h := store(messages...)
	r := call(t, h, `{"sessionKey":"cron:x","offset":1}`)
	if len(r.Messages) != 19 || r.Truncated || r.HasMore || h.Calls[abi.OpHistory] < 4 {
		t.Errorf("S3.4 %d messages in %d requests: %+v", len(r.Messages), h.Calls[abi.OpHistory], r)
	}
}

func TestMessageLargerThanBound(t *testing.T) {
	block := `{"type":"text","text":"` + strings.Repeat("x", 4000) + `"}`
	big := `{"role":"assistant","content":[` + strings.Repeat(block+",", 24) + block + `],"timestamp":7}`
	r := call(t, store(`{"content":"a"}`, big, `{"content":"c"}`), `{"sessionKey":"cron:x"}`)
	if len(r.Messages) != 3 || !r.DroppedMessages || r.ContentTruncated || r.HasMore || !strings.Contains(string(r.Messages[1]), `"role":"assistant","timestamp":7`) {
		t.Errorf("S3.4 %+v", r)
	}
	// The newest message is returned regardless of its size.
	r = call(t, store(`{"content":"a"}`, big), `{"sessionKey":"cron:x","limit":1}`)
	if len(r.Messages) != 1 || !r.DroppedMessages || !r.HasMore || *r.NextOffset != 1 {
		t.Errorf("S3.4 %+v", r)
	}
}

// The rendered array is smaller than maxBytes, by at least one byte.
func TestExactBound(t *testing.T) {
	message := func(letter string, n int) string { return `{"content":"` + strings.Repeat(letter, n) + `"}` }
	size := func(m string) int { return render.Size([]byte(m), messageDepth) }
	for _, extra := range []int{0, 1} {
		var messages []string
		total := brackets
		for total < maxBytes-1-4000 {
			messages = append(messages, message("x", 3000))
			total += size(messages[0])
		}
		last := message("y", maxBytes-1-total-size(message("y", 0))+extra)
		r := call(t, store(append([]string{last}, messages...)...), `{"sessionKey":"cron:x"}`)
		if full := extra == 0; r.DroppedMessages == full || (len(r.Messages) == len(messages)+1) != full {
			t.Errorf("S3.4 extra %d: %d of %d messages, dropped %v", extra, len(r.Messages), len(messages)+1, r.DroppedMessages)
		}
	}
}

// Many small values are short as compact JSON and long when rendered.
func TestBoundOfRenderedSize(t *testing.T) {
	numbers := `{"role":"assistant","content":[{"type":"toolCall","arguments":{"n":[` + strings.Repeat("0,", 9999) + `0]}}]}`
	r := call(t, store(`{"content":"old"}`, numbers, `{"content":"new"}`), `{"sessionKey":"cron:x"}`)
	if len(r.Messages) != 3 || !r.DroppedMessages || !strings.Contains(string(r.Messages[1]), `"omitted"`) {
		t.Errorf("S3.4 %+v", r)
	}
}

func TestFault(t *testing.T) {
	get := guesttest.Exchange{Reply: `{"ok":{"session":{"key":"agent:main:main","sessionId":"s"}}}`}
	for _, reply := range []string{``, `{"ok":{"messages":null`, `{"ok":{}}`, `{"ok":{"messages":[],"more":true}}`, `{"error":{"code":"nonsense","message":"x"}}`} {
		_, err := Call(guesttest.NewScript(t, get, guesttest.Exchange{Reply: reply}), &guest.Input{Caller: operator, Args: `{"sessionKey":"main"}`}, nil)
		var f *guest.Fault
		if !errors.As(err, &f) || f.Err.Code != abi.Internal {
			t.Errorf("reply %q: %v", reply, err)
		}
	}
}

func BenchmarkHistory50(b *testing.B) {
	text := strings.Repeat(`All is well: the build passed, see \"log\".\n`, 6)
	var messages []string
	for range 60 {
		messages = append(messages, `{"role":"assistant","content":[{"type":"text","text":"`+text+`"}],"usage":{"totalTokens":3},"timestamp":1700000000000}`)
	}
	h := store(messages...)
	in := &guest.Input{Caller: operator, Args: `{"sessionKey":"cron:x","limit":50}`}
	var replies [][]byte
	record := hostFunc(func(namespace string, request []byte) []byte {
		replies = append(replies, h.Call(namespace, request))
		return replies[len(replies)-1]
	})
	if _, err := Call(record, in, nil); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		next := 0
		replay := hostFunc(func(string, []byte) []byte { next++; return replies[next-1] })
		if _, err := Call(replay, in, nil); err != nil {
			b.Fatal(err)
		}
	}
}

type hostFunc func(namespace string, request []byte) []byte

func (f hostFunc) Call(namespace string, request []byte) []byte { return f(namespace, request) }
