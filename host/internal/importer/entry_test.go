package importer

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonstrict"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

// addEntry adds one entry to a new catalog, and returns it unless it was rejected.
func addEntry(settings sessionkey.Settings, agent, key, text string) (*entry, *Report) {
	r := newReport("")
	c := newCatalog(settings, r)
	c.add(&agentDir{Agent: agent, Path: "agents/" + agent + "/sessions"}, key, []byte(text), 1)
	if len(c.entries) == 0 {
		return nil, r
	}
	return c.entries[0], r
}

func TestKeys(t *testing.T) {
	home := sessionkey.Settings{MainKey: "home", DefaultAgent: "ops"}
	tests := []struct {
		settings         sessionkey.Settings
		dir, spelling    string
		key, agent, kind string // empty key = rejected
	}{
		{sessionkey.Settings{}, "main", "main", "agent:main:main", "main", "other"},
		{sessionkey.Settings{}, "ops", "main", "agent:ops:main", "ops", "other"},
		{sessionkey.Settings{}, "ops", "cron:daily", "agent:ops:cron:daily", "ops", "cron"},
		{sessionkey.Settings{}, "ops", "hook:1", "agent:ops:hook:1", "ops", "hook"},
		{sessionkey.Settings{}, "ops", "node-x", "agent:ops:node-x", "ops", "node"},
		{sessionkey.Settings{}, "ops", "discord:group:123", "agent:ops:discord:group:123", "ops", "group"},
		{sessionkey.Settings{}, "ops", "agent:Main:subagent:1", "agent:main:subagent:1", "main", "other"},
		{sessionkey.Settings{}, "ops", "  cron:x ", "agent:ops:cron:x", "ops", "cron"},
		{sessionkey.Settings{}, "ops", "global", "global", "main", "other"},
		{home, "main", "main", "agent:main:home", "main", "other"},
		{home, "main", "agent:x:main", "agent:x:home", "x", "other"},
		{home, "main", "global", "global", "ops", "other"},
		{sessionkey.Settings{GlobalScope: true}, "ops", "main", "global", "main", "other"},
		{sessionkey.Settings{}, "ops", "unknown", "", "", ""},
		{sessionkey.Settings{}, "ops", "agent:ops:global", "", "", ""},
		{sessionkey.Settings{}, "ops", "current", "", "", ""},
		{sessionkey.Settings{}, "ops", "agent:ops", "", "", ""},
		{sessionkey.Settings{}, "ops", "a/../b", "", "", ""},
		{sessionkey.Settings{}, "ops", strings.Repeat("k", abi.MaxSessionKey), "", "", ""},
	}
	for _, tt := range tests {
		e, r := addEntry(tt.settings, tt.dir, tt.spelling, `{"sessionId":"s","updatedAt":1}`)
		if e == nil {
			if tt.key != "" || r.Sessions.Skipped != 1 || len(r.Problems) != 1 {
				t.Errorf("%q in %s was rejected: %+v", tt.spelling, tt.dir, r.Problems)
			}
			continue
		}
		if s := e.Session; s.Key != tt.key || s.AgentID != tt.agent || s.Kind != tt.kind {
			t.Errorf("%q in %s = %s, agent %s, kind %s", tt.spelling, tt.dir, s.Key, s.AgentID, s.Kind)
		}
	}
}

func TestEntry(t *testing.T) {
	e, r := addEntry(sessionkey.Settings{}, "ops", "discord:channel:1:thread:2", `{
		"sessionId": " s1 ", "updatedAt": 1770714000000.75, "label": " L ", "displayName": "D", "subject": "S",
		"chatType": "Room", "deliveryContext": {"channel": " Discord ", "to": 77, "threadId": 12, "accountId": "  "},
		"lastChannel": "DISCORD", "lastTo": "channel:1", "lastAccountId": null, "lastThreadId": 12345678901234567890,
		"model": "m", "modelProvider": "p", "contextTokens": 5, "totalTokens": 6.9, "inputTokens": 7,
		"thinkingLevel": "low", "verboseLevel": "on", "systemSent": true, "abortedLastRun": false, "sendPolicy": "DENY",
		"spawnedBy": "main", "status": "done", "archived": true, "origin": {"provider": "Slack", "chatType": "dm"},
		"skillsSnapshot": {"prompt": "long"}, "systemPromptReport": {}, "future": {"a": [1, 2]}
	}`)
	if e == nil {
		t.Fatal(r.Problems)
	}
	yes, no, five, six := true, false, int64(5), int64(6)
	want := abi.Session{
		Key: "agent:ops:discord:channel:1:thread:2", AgentID: "ops", Kind: "group", SessionID: "s1", UpdatedAt: 1770714000000,
		Label: "L", DisplayName: "D", Subject: "S", ChatType: "channel", Channel: "slack",
		DeliveryContext: abi.Target{Channel: "discord", To: "77", ThreadID: "12"},
		LastChannel:     "discord", LastTo: "channel:1", LastThreadID: "12345678901234567890",
		Model: "m", ContextTokens: &five, TotalTokens: &six, ThinkingLevel: "low", VerboseLevel: "on",
		SystemSent: &yes, AbortedLastRun: &no, SendPolicy: "deny", SpawnedBy: "agent:ops:main", Status: "done", ArchivedAt: 1770714000000,
	}
	if diff := cmp.Diff(want, e.Session); diff != "" {
		t.Errorf("session (-want +got):\n%s", diff)
	}
	const extra = `{"modelProvider":"p","inputTokens":7,"origin":{"provider":"Slack","chatType":"dm"},"future":{"a":[1,2]}}`
	if string(e.Extra) != extra {
		t.Errorf("extra %s, want %s", e.Extra, extra)
	}
	if r.Repairs[repairNumbers] != 1 || len(r.Problems) != 1 {
		t.Errorf("want one repair, of the large number: %+v", r.Problems)
	}
}

func TestTopicFile(t *testing.T) {
	ok := messageLine("t", "user", "topic")
	tests := []struct{ key, file string }{
		{"telegram:group:-1:topic:42", "s-topic-42.jsonl"},
		{"telegram:group:-1:topic:a b/ü", "s-topic-a%20b%2F%C3%BC.jsonl"},
		{"discord:channel:1:thread:9", "s-topic-9.jsonl"},
		{"telegram:direct:7:thread:3", "s-topic-3.jsonl"},
		{"telegram:group:-1:topic:43", "s.jsonl"},
	}
	for _, tt := range tests {
		m := newMemory()
		mustImport(t, build(t, files{
			mainStore:                         `{"` + tt.key + `":{"sessionId":"s","updatedAt":1}}`,
			"agents/main/sessions/" + tt.file: header("s") + ok,
		}), m)
		if s := m.sessions["agent:main:"+tt.key]; s == nil || len(s.Messages) != 1 || !strings.HasSuffix(s.TranscriptPath, tt.file) {
			t.Errorf("%s: %+v, want the message of %s", tt.key, s, tt.file)
		}
	}
}

func TestRuns(t *testing.T) {
	m := newMemory()
	mustImport(t, build(t, files{
		mainStore: `{
			"subagent:a": {"sessionId":"a","updatedAt":1},
			"subagent:b": {"sessionId":"b","updatedAt":1,"label":"own","status":"timeout","spawnedBy":"cron:x"},
			"subagent:c": {"sessionId":"c","updatedAt":1},
			"subagent:d": {"sessionId":"d","updatedAt":1}}`,
		runsFile: `{"version":2,"runs":{
			"2": {"childSessionKey":"agent:main:subagent:a","requesterSessionKey":"main","label":" new ","createdAt":2,"endedAt":3,"outcome":{"status":"ok"}},
			"1": {"childSessionKey":"agent:main:subagent:a","requesterSessionKey":"cron:old","label":"old","createdAt":1,"outcome":{"status":"error"}},
			"3": {"childSessionKey":"agent:main:subagent:b","requesterSessionKey":"main","label":"other","outcome":{"status":"ok"}},
			"4": {"childSessionKey":"agent:main:subagent:c","outcome":"error","endedReason":"subagent-killed"},
			"5": {"childSessionKey":"agent:main:subagent:d","endedAt":5,"outcome":{"status":"unknown"}}}}`,
	}), m)
	for child, want := range map[string][3]string{
		"a": {"agent:main:main", "new", "done"},
		"b": {"agent:main:cron:x", "own", "timeout"},
		"c": {"", "", "killed"},
		"d": {"", "", ""},
	} {
		s := m.sessions["agent:main:subagent:"+child]
		if got := [3]string{s.SpawnedBy, s.Label, s.Status}; got != want {
			t.Errorf("child %s: %q, want %q", child, got, want)
		}
	}
}

func TestSettings(t *testing.T) {
	tests := []struct {
		text string
		want sessionkey.Settings
		err  string
	}{
		{`{}`, sessionkey.Settings{}, ""},
		{`{session:{mainKey:' home ',scope:'global'},agents:{list:[{id:'a'},{id:'B',default:true}]},}`, sessionkey.Settings{MainKey: "home", GlobalScope: true, DefaultAgent: "b"}, ""},
		{`{agents:{list:[{id:'first'},{id:'x'}]}}`, sessionkey.Settings{DefaultAgent: "first"}, ""},
		{`{session:{mainKey:5},agents:{list:[{id:'..'},{id:'x'}]}}`, sessionkey.Settings{DefaultAgent: "x"}, "session.mainKey"},
		{`{`, sessionkey.Settings{}, "neither"},
	}
	for _, tt := range tests {
		got, err := Settings(build(t, files{configFile: tt.text}))
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s = %+v, %v", tt.text, got, err)
		}
	}
	if got, err := Settings(t.TempDir()); err != nil || got != (sessionkey.Settings{}) {
		t.Errorf("without a file: %+v, %v", got, err)
	}
}

// FuzzStore parses any text as a sessions.json. The sessions must be strict JSON with
// valid keys, and every entry must be imported or reported.
func FuzzStore(f *testing.F) {
	f.Add([]byte(`{"main":{"sessionId":"s","updatedAt":1,"deliveryContext":{"threadId":1e3}},"a":null}`))
	f.Add([]byte("// x\n{'cron:x': {sessionId: 's', label: 'l', origin: {provider: 'x'},},}"))
	f.Add([]byte("{\"a\xff\":{\"sessionId\":\"s\",\"sessionId\":\"\\ud800\",\"x\":1e999}}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r := newReport("")
		c := newCatalog(sessionkey.Settings{}, r)
		c.addStore(&agentDir{Agent: "main", Path: "agents/main/sessions"}, text)
		for _, e := range c.entries {
			s := &e.Session
			if sessionkey.Check(s.Key) != nil || checkSessionID(s.SessionID) != nil {
				t.Errorf("invalid session: key %q, id %q", s.Key, s.SessionID)
			}
			if err := jsonstrict.Check(s.AppendJSON(nil)); err != nil {
				t.Errorf("session: %v", err)
			}
			if err := jsonstrict.Check(e.Extra); err != nil && len(e.Extra) > 0 {
				t.Errorf("extra %s: %v", e.Extra, err)
			}
		}
		if doc, err := parseLenient(text); err == nil {
			n := 0
			if members(doc.json, func(string, []byte, int) { n++ }) && n != len(c.entries)+r.Sessions.Skipped {
				t.Errorf("%d entries: %d imported, %d reported", n, len(c.entries), r.Sessions.Skipped)
			}
		} else if r.Totals[BadStore] != 1 {
			t.Errorf("not reported: %v", err)
		}
		for _, p := range r.Problems {
			if !utf8.ValidString(p.Text) || strings.ContainsAny(p.Text, "\n\x1b") {
				t.Errorf("text %q", p.Text)
			}
		}
	})
}

// FuzzMembers compares members with encoding/json.
func FuzzMembers(f *testing.F) {
	f.Add([]byte(`{"a":1,"b\n":[{"x":"]}\\\""}],"a":{},"c":-1.5e3 ,"":"é"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) || !utf8.Valid(text) {
			return
		}
		var want map[string]json.RawMessage
		isObject := json.Unmarshal(text, &want) == nil && want != nil
		got := map[string]json.RawMessage{}
		if members(text, func(name string, value []byte, end int) { got[name] = value }) != isObject {
			t.Fatalf("is an object: %v, want %v", !isObject, isObject)
		}
		if isObject && !cmp.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}
