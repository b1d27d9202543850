package refhost_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/conformance/refhost"
	"github.com/parley-wasm/parley/abi/conformance/vector"
	"github.com/parley-wasm/parley/abi/internal/jsonvalue"
)

// storeOf returns a Store with these sessions, in the form of a vector's "sessions".
func storeOf(t *testing.T, sessions string) *refhost.Store {
	t.Helper()
	doc := `[{"id":"S0/x","spec":["S0"],"about":"x.","store":{"sessions":` + sessions + `},"call":{"tool":"t"},"expect":{"match":{}}}]`
	vectors, err := vector.Load(fstest.MapFS{"x.json": {Data: []byte(doc)}})
	if err != nil {
		t.Fatal(err)
	}
	return refhost.NewStore(vectors[0].Store)
}

const sessions = `[
	{"key":"agent:a:main","sessionId":"i1","updatedAt":900,"label":"L","messages":[{"role":"user","content":"1"},{"role":"toolResult"},{"role":"tool"},{"role":"assistant","content":"4"}]},
	{"key":"agent:a:cron:x","sessionId":"i2","updatedAt":800},
	{"key":"agent:b:subagent:k","sessionId":"i3","updatedAt":800,"spawnedBy":"agent:a:main","subject":"ÄPFEL 50%"},
	{"key":"agent:b:main","sessionId":"i3","updatedAt":700,"archivedAt":1},
	{"key":"agent:ab:home","sessionId":"i5","updatedAt":600},
	{"key":"global","sessionId":"i6","updatedAt":500}]`

func parse(t *testing.T, doc string) any {
	t.Helper()
	v, err := jsonvalue.Parse([]byte(doc))
	if err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	return v
}

func TestStoreLists(t *testing.T) {
	s := storeOf(t, sessions)
	tests := []struct{ request, keys, more string }{
		{`"limit":10`, "agent:a:main agent:a:cron:x agent:b:subagent:k agent:ab:home", "false"},
		{`"limit":2`, "agent:a:main agent:a:cron:x", "true"},
		{`"limit":2,"after":{"updatedAt":800,"key":"agent:a:cron:x"}`, "agent:b:subagent:k agent:ab:home", "false"},
		{`"limit":9,"scope":{}`, "", "false"},
		{`"limit":9,"scope":{"agents":["a"]}`, "agent:a:main agent:a:cron:x", "false"},
		{`"limit":9,"scope":{"agents":["a*"]}`, "agent:a:main agent:a:cron:x agent:ab:home", "false"},
		{`"limit":9,"scope":{"agents":["*b"],"keys":["agent:a:main"]}`, "agent:a:main agent:b:subagent:k agent:ab:home", "false"},
		{`"limit":9,"scope":{"keys":["agent:a:main"],"spawnedBy":"agent:a:main"}`, "agent:a:main agent:b:subagent:k", "false"},
		{`"limit":9,"kinds":["main"]`, "agent:a:main", "false"},
		{`"limit":9,"kinds":["main"],"mainKey":"home"`, "agent:ab:home", "false"},
		{`"limit":9,"kinds":["cron","other"]`, "agent:a:cron:x agent:b:subagent:k agent:ab:home", "false"},
		{`"limit":9,"agentId":"b","includeArchived":true`, "agent:b:subagent:k agent:b:main", "false"},
		{`"limit":9,"label":"L"`, "agent:a:main", "false"},
		{`"limit":9,"label":"l"`, "", "false"},
		{`"limit":9,"search":"äpf"`, "agent:b:subagent:k", "false"},
		{`"limit":9,"search":"50%"`, "agent:b:subagent:k", "false"},
		{`"limit":9,"search":"5_%"`, "", "false"},
		{`"limit":9,"activeSince":800`, "agent:a:main agent:a:cron:x agent:b:subagent:k", "false"},
		{`"limit":9,"maxBytes":1`, "agent:a:main", "true"},
		{`"limit":9,"global":"a"`, "agent:a:cron:x agent:b:subagent:k agent:ab:home global", "false"},
		{`"limit":9,"global":"a","kinds":["main"]`, "global", "false"},
		{`"limit":9,"global":"zz","scope":{"agents":["zz"]}`, "global", "false"},
		{`"limit":9,"global":"zz","agentId":"zz"`, "global", "false"},
	}
	for _, tt := range tests {
		reply := parse(t, string(s.Call(abi.ImportStore, []byte(`{"op":"list",`+tt.request+`}`))))
		rows, ok := jsonvalue.Lookup(reply, "/ok/rows")
		if !ok {
			t.Errorf("%s: %v", tt.request, reply)
			continue
		}
		var keys []string
		for _, row := range rows.([]any) {
			key, _ := jsonvalue.Lookup(row, "/session/key")
			keys = append(keys, key.(string))
		}
		more, _ := jsonvalue.Lookup(reply, "/ok/more")
		if strings.Join(keys, " ") != tt.keys || fmt.Sprint(more) != tt.more {
			t.Errorf("%s: got %s, more %v; want %s, more %s", tt.request, keys, more, tt.keys, tt.more)
		}
	}
}

func TestStoreReplies(t *testing.T) {
	s := storeOf(t, sessions)
	tests := []struct{ namespace, request, pattern string }{
		{"store", `{"op":"get","sessionKey":"agent:b:main"}`, `{"ok":{"session":{"sessionId":"i3","archivedAt":1,"agentId":"b","kind":"other"}}}`},
		{"store", `{"op":"get","sessionKey":"agent:c:main"}`, `{"ok":{"session":null}}`},
		{"store", `{"op":"get","sessionKey":"global"}`, `{"ok":{"session":{"sessionId":"i6","agentId":"main"}}}`},
		{"store", `{"op":"resolve","sessionId":"i3"}`, `{"ok":{"session":{"key":"agent:b:subagent:k"}}}`},
		{"store", `{"op":"resolve","sessionId":"i3","scope":{"keys":["agent:b:main"]}}`, `{"ok":{"session":{"key":"agent:b:main"}}}`},
		{"store", `{"op":"resolve","sessionId":"i3","scope":{}}`, `{"ok":{"session":null}}`},
		{"store", `{"op":"resolve","sessionId":"i6"}`, `{"ok":{"session":null}}`},
		{"store", `{"op":"resolve","sessionId":"i6","global":"a"}`, `{"ok":{"session":{"key":"global"}}}`},
		{"store", `{"op":"list","limit":1,"messages":2}`, `{"ok":{"rows":[{"messages":[{"seq":1},{"seq":4}]}]}}`},
		{"store", `{"op":"list","limit":1,"messages":1}`, `{"ok":{"rows":[{"messages":[{"seq":4,"message":{"content":"4"}}]}]}}`},
		{"store", `{"op":"list","limit":1}`, `{"ok":{"rows":[{"messages":{"$absent":true}}]}}`},
		{"store", `{"op":"history","sessionKey":"agent:a:main","limit":3}`, `{"ok":{"messages":[{"seq":4},{"seq":3},{"seq":2}],"more":true}}`},
		{"store", `{"op":"history","sessionKey":"agent:a:main","limit":3,"excludeRoles":["tool"]}`, `{"ok":{"messages":[{"seq":4},{"seq":2},{"seq":1}],"more":false}}`},
		{"store", `{"op":"history","sessionKey":"agent:a:main","limit":9,"skip":1,"excludeRoles":["tool","toolResult"]}`, `{"ok":{"messages":[{"seq":1}],"more":false}}`},
		{"store", `{"op":"history","sessionKey":"agent:a:main","limit":9,"before":4}`, `{"ok":{"messages":[{"seq":3},{"seq":2},{"seq":1}]}}`},
		{"store", `{"op":"history","sessionKey":"agent:a:main","limit":9,"maxBytes":1}`, `{"ok":{"messages":[{"seq":4}],"more":true}}`},
		{"store", `{"op":"history","sessionKey":"nobody","limit":9}`, `{"ok":{"messages":[],"more":false}}`},
		{"agent", `{"op":"status","runId":"r"}`, `{"ok":{"run":null}}`},

		{"store", `{"op":"history","sessionKey":"agent:a:main"}`, `{"error":{"code":"invalid_args"}}`},
		{"store", `{"op":"list","limit":0}`, `{"error":{"code":"invalid_args"}}`},
		{"store", `{"op":"list","limit":1001}`, `{"error":{"code":"invalid_args"}}`},
		{"store", `{"op":"list","limit":1,"messages":21}`, `{"error":{"code":"invalid_args"}}`},
		{"store", `{"op":"list","limit":1,"maxBytes":1048577}`, `{"error":{"code":"invalid_args"}}`},
		{"store", `{"op":"list","limit":1,"kinds":["bogus"]}`, `{"error":{"code":"invalid_args"}}`},
		{"store", `{"op":"list","limit":1,"Kinds":["cron"]}`, `{"error":{"code":"invalid_args"}}`},
		{"store", `{"op":"list","limit":1,"scope":{"agent":"a"}}`, `{"error":{"code":"invalid_args"}}`},
		{"store", `{"op":"list","limit":1,"limit":1}`, `{"error":{"code":"invalid_args"}}`},
		{"store", `{"op":"list","limit":"1"}`, `{"error":{"code":"invalid_args"}}`},
		{"store", `{"op":"get"}`, `{"error":{"code":"invalid_args"}}`},
		{"store", `{"op":"get","sessionKey":"k","x":1}`, `{"error":{"code":"invalid_args"}}`},
		{"store", `[]`, `{"error":{"code":"invalid_args"}}`},
		{"store", `{"op":"list","limit":1}{}`, `{"error":{"code":"invalid_args"}}`},
		{"store", `{"op":"teapot"}`, `{"error":{"code":"unsupported"}}`},
		{"store", `{"op":"delete"}`, `{"error":{"code":"forbidden"}}`},
		{"agent", `{"op":"run"}`, `{"error":{"code":"forbidden"}}`},
		{"deliver", `{"op":"send"}`, `{"error":{"code":"forbidden"}}`},
		{"deliver", `{"op":"get","sessionKey":"k"}`, `{"error":{"code":"unsupported"}}`},
	}
	for _, tt := range tests {
		reply := parse(t, string(s.Call(tt.namespace, []byte(tt.request))))
		for _, line := range vector.Match(reply, parse(t, tt.pattern)) {
			t.Errorf("%s %s: %s", tt.namespace, tt.request, line)
		}
	}
}

func TestStoreShortens(t *testing.T) {
	s := storeOf(t, `[
		{"key":"agent:a:x","sessionId":"i","updatedAt":1,"messages":[{"role":"user","content":[{"text":{"$concat":["a",{"$repeat":"é","times":40000}]}},{"text":"short"}]}]},
		{"key":"agent:a:y","sessionId":"i","updatedAt":1,"messages":[{"role":"user","timestamp":5,"content":[{"$times":30,"each":{"$repeat":"x","times":60000}}]}]},
		{"key":"agent:a:z","sessionId":"i","updatedAt":1,"messages":[{"role":"user","timestamp":5,"content":[{"$times":300,"each":{"$repeat":"x","times":20000}}]}]}]`)
	tests := []struct{ key, pattern string }{
		{"agent:a:x", `{"ok":{"messages":[{"message":{"content":[{"text":{"$len":32768}},{"text":"short"}]},"cut":[{"path":"/content/0/text","bytes":80001}]}]}}`},
		{"agent:a:y", `{"ok":{"messages":[{"message":{"content":{"$every":{"$len":16384}}},"cut":{"$len":30,"$every":{"bytes":60000}}}]}}`},
		{"agent:a:z", `{"ok":{"messages":[{"message":{"$is":{"role":"user","timestamp":5}},"cut":[{"path":"","bytes":{"$gte":6000000}}]}]}}`},
	}
	for _, tt := range tests {
		reply := parse(t, string(s.Call(abi.ImportStore, []byte(`{"op":"history","limit":1,"sessionKey":"`+tt.key+`"}`))))
		for _, line := range vector.Match(reply, parse(t, tt.pattern)) {
			t.Errorf("%s: %s", tt.key, line)
		}
	}
}

// TestExampleCases checks that the reference store passes the test cases of the stores in
// examples/.
func TestExampleCases(t *testing.T) {
	text, err := os.ReadFile("../../../examples/store.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Sessions []struct {
			Session  abi.Session
			Messages []json.RawMessage
		}
		Cases []struct {
			Name    string
			Request json.RawMessage
			Rows    []string
			Seqs    []int64
			Session *string
			More    bool
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	contents := &vector.Contents{}
	for _, s := range file.Sessions {
		stored := vector.StoredSession{Session: s.Session}
		for _, m := range s.Messages {
			stored.Messages = append(stored.Messages, m)
		}
		contents.Sessions = append(contents.Sessions, stored)
	}
	store := refhost.NewStore(contents)
	for _, c := range file.Cases {
		var got struct {
			OK struct {
				Rows []struct {
					Session  struct{ Key string }
					Messages []struct{ Seq int64 }
				}
				Messages []struct{ Seq int64 }
				Session  *struct{ Key string }
				More     bool
			}
		}
		reply := store.Call(abi.ImportStore, c.Request)
		if err := json.Unmarshal(reply, &got); err != nil {
			t.Fatal(err)
		}
		var rows []string
		messages := got.OK.Messages
		for _, r := range got.OK.Rows {
			rows, messages = append(rows, r.Session.Key), append(messages, r.Messages...)
		}
		var seqs []int64
		for _, m := range messages {
			seqs = append(seqs, m.Seq)
		}
		same := slices.Equal(rows, c.Rows) && slices.Equal(seqs, c.Seqs) && got.OK.More == c.More &&
			(got.OK.Session == nil) == (c.Session == nil) && (c.Session == nil || got.OK.Session.Key == *c.Session)
		if !same {
			t.Errorf("%s: %s", c.Name, reply)
		}
	}
}
