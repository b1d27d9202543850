package list

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/plugin/guest"
	"github.com/parley-wasm/parley/plugin/guest/guesttest"
)

var operator = abi.Caller{Operator: true}

const now = 1_700_000_000_000

// The arguments become one request to the host.
func TestRequest(t *testing.T) {
	cursor := formatCursor(abi.Position{UpdatedAt: 5, Key: "agent:a:b:c"})
	tests := []struct{ args, want string }{
		{`{}`, `{"op":"list","limit":50,"maxBytes":262144}`},
		{`null`, `{"op":"list","limit":50,"maxBytes":262144}`},
		{`{"limit":0}`, `{"op":"list","limit":1,"maxBytes":262144}`},
		{`{"limit":7.9}`, `{"op":"list","limit":7,"maxBytes":262144}`},
		{`{"limit":1000}`, `{"op":"list","limit":200,"maxBytes":262144}`},
		{`{"kinds":["cron","main"]}`, `{"op":"list","kinds":["cron","main"],"limit":50,"maxBytes":262144}`},
		{`{"kinds":[]}`, `{"op":"list","limit":50,"maxBytes":262144}`},
		{`{"activeMinutes":2.5}`, `{"op":"list","activeSince":1699999880000,"limit":50,"maxBytes":262144}`},
		{`{"activeMinutes":9007199254740992}`, `{"op":"list","limit":50,"maxBytes":262144}`},
		{`{"messageLimit":99}`, `{"op":"list","limit":50,"messages":20,"maxBytes":262144}`},
		{`{"messageLimit":-1}`, `{"op":"list","limit":50,"maxBytes":262144}`},
		{`{"label":" x ","agentId":"OPS","search":"Y","includeArchived":true}`, `{"op":"list","agentId":"ops","label":"x","search":"Y","includeArchived":true,"limit":50,"maxBytes":262144}`},
		{`{"cursor":"` + cursor + `"}`, `{"op":"list","after":{"updatedAt":5,"key":"agent:a:b:c"},"limit":50,"maxBytes":262144}`},
	}
	for _, tt := range tests {
		h := guesttest.NewScript(t, guesttest.Exchange{Request: tt.want, Reply: `{"ok":{"rows":[],"more":false}}`})
		got, err := Call(h, &guest.Input{Args: tt.args, Caller: operator, Now: now}, nil)
		if err != nil || string(got) != `{"count":0,"sessions":[]}` {
			t.Errorf("S2.1 %s: %s, %v", tt.args, got, err)
		}
	}
}

func TestRequestRefuses(t *testing.T) {
	for args, want := range map[string]string{
		`{"kinds":["bot"]}`:         `kinds contains the unknown value "bot"`,
		`{"limit":"5"}`:             "limit must be a number",
		`{"activeMinutes":0}`:       "activeMinutes must be a number of at least 1",
		`{"activeMinutes":0.9}`:     "activeMinutes must be",
		`{"messageLimit":[]}`:       "messageLimit must be a number",
		`{"label":5}`:               "label must be a string",
		`{"agentId":"o ps"}`:        "agentId has an invalid agent id",
		`{"includeArchived":"yes"}`: "includeArchived must be true or false",
		`{"cursor":"!"}`:            "cursor is not a cursor of sessions_list",
		`{"cursor":"eA"}`:           "cursor is not a cursor of sessions_list",
		`{"cursor":"NTo"}`:          "cursor is not a cursor of sessions_list",
		`{"cursor":"NTo="}`:         "cursor is not a cursor of sessions_list",
		`{"cursor":"NTp4Cg"}`:       "cursor is not a cursor of sessions_list",
		`{"Limit":5}`:               `unknown parameter "Limit"; its name is limit`,
		`[]`:                        "must be a JSON object",
	} {
		_, err := Call(guesttest.NewScript(t), &guest.Input{Args: args, Caller: operator, Now: now}, nil)
		if !errors.Is(err, abi.InvalidArgs) || !strings.Contains(err.Error(), want) {
			t.Errorf("S0.2 %s: %v; want %s", args, err, want)
		}
	}
}

// The request to the host contains scope, main key and global agent.
func TestScope(t *testing.T) {
	in := &guest.Input{Caller: abi.Caller{SessionKey: "agent:ops:home", AgentID: "ops"}, Config: `{"session":{"mainKey":"home"}}`}
	h := guesttest.NewScript(t, guesttest.Exchange{Request: `{"op":"list","scope":{"keys":["agent:ops:home"],"spawnedBy":"agent:ops:home"},"mainKey":"home","limit":50,"maxBytes":262144}`, Reply: `{"ok":{"rows":[],"more":false}}`})
	if _, err := Call(h, in, nil); err != nil {
		t.Error(err)
	}
	in = &guest.Input{Caller: abi.Caller{SessionKey: "global", AgentID: "ops"}, Config: `{"session":{"scope":"global"},"tools":{"sessions":{"visibility":"agent"}}}`}
	h = guesttest.NewScript(t, guesttest.Exchange{Request: `{"op":"list","scope":{"agents":["ops"],"keys":["global"],"spawnedBy":"global"},"global":"ops","limit":50,"maxBytes":262144}`,
		Reply: `{"ok":{"rows":[{"session":{"key":"global","sessionId":"s","updatedAt":1}}],"more":false}}`})
	got, err := Call(h, in, nil)
	if want := `{"count":1,"sessions":[{"key":"main","kind":"main","channel":"unknown","agentId":"ops","updatedAt":1,"sessionId":"s"}]}`; err != nil || string(got) != want {
		t.Errorf("S1.3 %v\n got %s\nwant %s", err, got, want)
	}
}

func TestRow(t *testing.T) {
	yes, n, zero := true, int64(7), int64(0)
	no := false
	tests := []struct {
		name string
		in   abi.Session
		want string
	}{
		{"S2.3 all members", abi.Session{Key: "agent:ops:discord:group:1", AgentID: "ops", SessionID: "s", UpdatedAt: 9, Label: "l", DisplayName: "d", Subject: "not shown", ChatType: "group", Channel: "discord",
			DeliveryContext: abi.Target{Channel: "discord", To: "1", AccountID: "a", ThreadID: "t"}, LastChannel: "discord", LastTo: "1", Model: "m", ContextTokens: &n, TotalTokens: &zero,
			ThinkingLevel: "high", VerboseLevel: "on", SystemSent: &yes, AbortedLastRun: &no, SendPolicy: "deny", SpawnedBy: "agent:ops:main", Status: "done", ArchivedAt: 5, TranscriptPath: "/x/s.jsonl"},
			`{"key":"agent:ops:discord:group:1","kind":"group","channel":"discord","agentId":"ops","label":"l","displayName":"d","updatedAt":9,"sessionId":"s","model":"m","contextTokens":7,"totalTokens":0,` +
				`"thinkingLevel":"high","verboseLevel":"on","systemSent":true,"abortedLastRun":false,"sendPolicy":"deny","lastChannel":"discord","lastTo":"1",` +
				`"deliveryContext":{"channel":"discord","to":"1","accountId":"a","threadId":"t"},"spawnedBy":"agent:ops:main","status":"done","archived":true,"transcriptPath":"/x/s.jsonl"}`},
		{"S1.2 own main", abi.Session{Key: "agent:main:main", SessionID: "s", SpawnedBy: "agent:main:main"},
			`{"key":"main","kind":"main","channel":"unknown","agentId":"main","updatedAt":0,"sessionId":"s","spawnedBy":"main"}`},
		{"S1.2 other agent's main", abi.Session{Key: "agent:ops:main", SessionID: "s"},
			`{"key":"agent:ops:main","kind":"main","channel":"unknown","agentId":"ops","updatedAt":0,"sessionId":"s"}`},
		{"S1.7 group, from the key", abi.Session{Key: "agent:main:slack:channel:C1", SessionID: "s", LastChannel: "telegram"},
			`{"key":"agent:main:slack:channel:C1","kind":"group","channel":"slack","agentId":"main","updatedAt":0,"sessionId":"s","lastChannel":"telegram","deliveryContext":{"channel":"telegram"}}`},
		{"S1.7 group, recorded", abi.Session{Key: "agent:main:x:group:1", SessionID: "s", Channel: "matrix"},
			`{"key":"agent:main:x:group:1","kind":"group","channel":"matrix","agentId":"main","updatedAt":0,"sessionId":"s"}`},
		{"S1.7 cron", abi.Session{Key: "agent:main:cron:x", SessionID: "s", Channel: "telegram"},
			`{"key":"agent:main:cron:x","kind":"cron","channel":"internal","agentId":"main","updatedAt":0,"sessionId":"s"}`},
		{"S1.7 direct, delivery context wins", abi.Session{Key: "agent:main:dm:1", SessionID: "s", Channel: "slack", LastChannel: "telegram", LastTo: "7", DeliveryContext: abi.Target{Channel: "signal", To: "8"}},
			`{"key":"agent:main:dm:1","kind":"other","channel":"signal","agentId":"main","updatedAt":0,"sessionId":"s","lastChannel":"telegram","lastTo":"7","deliveryContext":{"channel":"signal","to":"8"}}`},
		{"S2.3 delivery context filled", abi.Session{Key: "agent:main:dm:1", SessionID: "s", LastChannel: "telegram", LastTo: "7", LastAccountID: "a", LastThreadID: "t", DeliveryContext: abi.Target{ThreadID: "u"}},
			`{"key":"agent:main:dm:1","kind":"other","channel":"telegram","agentId":"main","updatedAt":0,"sessionId":"s","lastChannel":"telegram","lastTo":"7","deliveryContext":{"channel":"telegram","to":"7","accountId":"a","threadId":"u"}}`},
		{"S2.3 unknown words left out", abi.Session{Key: "agent:main:dm:1", SessionID: "s", SendPolicy: "maybe", Status: "odd"},
			`{"key":"agent:main:dm:1","kind":"other","channel":"unknown","agentId":"main","updatedAt":0,"sessionId":"s"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := &guesttest.Store{Sessions: []abi.Session{tt.in}}
			got, err := Call(h, &guest.Input{Caller: operator, Args: `{"includeArchived":true}`}, nil)
			if want := `{"count":1,"sessions":[` + tt.want + `]}`; err != nil || string(got) != want {
				t.Errorf("%v\n got %s\nwant %s", err, got, want)
			}
		})
	}
}

func TestLongFields(t *testing.T) {
	h := &guesttest.Store{Sessions: []abi.Session{{Key: "agent:main:x", SessionID: "s", Label: strings.Repeat("é", 1<<20)}}}
	got, err := Call(h, &guest.Input{Caller: operator}, nil)
	if err != nil || len(got) > 5000 || !json.Valid(got) || !strings.Contains(string(got), "é…") {
		t.Errorf("S2.2 %d bytes, %v", len(got), err)
	}
}

func many(n int) *guesttest.Store {
	s := &guesttest.Store{Messages: map[string][]abi.Message{}}
	for i := range n {
		key := fmt.Sprintf("agent:main:cron:%03d", i)
		s.Sessions = append(s.Sessions, abi.Session{Key: key, SessionID: fmt.Sprint("s", i), UpdatedAt: int64(1000 - i/2)})
		for k := range 3 {
			s.Messages[key] = append(s.Messages[key], abi.Message{JSON: fmt.Appendf(nil, `{"role":"user","content":"%d","usage":{}}`, k)})
		}
	}
	return s
}

type result struct {
	Count    int
	Sessions []struct {
		Key      string
		Messages []json.RawMessage
	}
	NextCursor string
}

func call(t *testing.T, h guest.Host, args string) result {
	t.Helper()
	got, err := Call(h, &guest.Input{Caller: operator, Args: args}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var shown bytes.Buffer
	if err := json.Indent(&shown, got, "", "  "); err != nil {
		t.Fatalf("%v in %s", err, got)
	}
	if shown.Len() >= maxResult {
		t.Errorf("S2.2 the rendered result has %d bytes", shown.Len())
	}
	var r result
	if err := json.Unmarshal(got, &r); err != nil {
		t.Fatal(err)
	}
	if r.Count != len(r.Sessions) {
		t.Errorf("S2.2 count = %d of %d", r.Count, len(r.Sessions))
	}
	return r
}

// Consecutive pages have no gap, no repetition and no empty last page.
func TestPages(t *testing.T) {
	for _, limit := range []int{1, 7, 10, 20, 200} {
		h, cursor, keys := many(20), "", map[string]bool{}
		for pages := 1; ; pages++ {
			r := call(t, h, fmt.Sprintf(`{"limit":%d,"cursor":%q}`, limit, cursor))
			for _, s := range r.Sessions {
				if keys[s.Key] {
					t.Fatalf("S2.2 %s twice", s.Key)
				}
				keys[s.Key] = true
			}
			if cursor = r.NextCursor; cursor == "" {
				if want := (20 + limit - 1) / limit; pages != want || len(keys) != 20 {
					t.Errorf("S2.2 limit %d: %d sessions on %d pages", limit, len(keys), pages)
				}
				break
			}
		}
	}
}

func TestMessages(t *testing.T) {
	h := many(1)
	h.Messages["agent:main:cron:000"] = append(h.Messages["agent:main:cron:000"], abi.Message{JSON: []byte(`{"role":"toolResult","content":"x"}`)})
	r := call(t, h, `{"messageLimit":2}`)
	if m := r.Sessions[0].Messages; len(m) != 2 || string(m[0]) != `{"role":"user","content":"1"}` || string(m[1]) != `{"role":"user","content":"2"}` {
		t.Errorf("S2.4 %s", m)
	}
	if r = call(t, h, `{}`); r.Sessions[0].Messages != nil {
		t.Errorf("S2.3 messages without messageLimit: %s", r.Sessions[0].Messages)
	}
	h.Messages = nil
	if r = call(t, h, `{"messageLimit":2}`); r.Sessions[0].Messages == nil {
		t.Error("S2.3 no messages with messageLimit")
	}
}

// A page ends before the row that would exceed the bound, and the next page starts with that row.
func TestBound(t *testing.T) {
	h := many(40)
	block := `{"type":"text","text":"` + strings.Repeat("x", 4000) + `"}`
	for key := range h.Messages {
		h.Messages[key] = []abi.Message{{JSON: []byte(`{"role":"assistant","content":[` + strings.Repeat(block+",", 9) + block + `]}`)}}
	}
	keys, cursor, pages := 0, "", 0
	for {
		r := call(t, h, fmt.Sprintf(`{"limit":40,"messageLimit":1,"cursor":%q}`, cursor))
		keys += r.Count
		pages++
		if cursor = r.NextCursor; cursor == "" {
			break
		}
		if r.Count < 10 {
			t.Errorf("S2.2 a page of %d", r.Count)
		}
	}
	if keys != 40 || pages != 4 {
		t.Errorf("S2.2 %d sessions on %d pages", keys, pages)
	}
}

// In a single row that exceeds the bound, placeholders replace the large messages. Nested
// values count with their indentation.
func TestRowLargerThanBound(t *testing.T) {
	h := many(2)
	deep := strings.Repeat("[", 40) + strings.Repeat("0,", 20000) + "0" + strings.Repeat("]", 40)
	h.Messages["agent:main:cron:000"] = []abi.Message{
		{JSON: []byte(`{"role":"user","content":"small"}`)},
		{JSON: []byte(`{"role":"user","x":` + deep + `,"id":"big"}`)},
	}
	r := call(t, h, `{"messageLimit":2}`)
	if m := r.Sessions[0].Messages; r.Count != 2 || len(m) != 2 || string(m[0]) != `{"role":"user","content":"small"}` || !strings.Contains(string(m[1]), `"omitted":true`) {
		t.Errorf("S2.2 %d: %.300s", r.Count, m)
	}
}

func TestFault(t *testing.T) {
	for _, reply := range []string{``, `{}`, `[]`, `{"ok":{}}`, `{"ok":{"rows":[],"more":true}}`, `{"ok":{"rows":[{"session":{}}]}}`, `{"ok":{"rows":[`, `{"error":{"code":"limit"}}`} {
		_, err := Call(guesttest.NewScript(t, guesttest.Exchange{Reply: reply}), &guest.Input{Caller: operator}, nil)
		var f *guest.Fault
		if !errors.As(err, &f) {
			t.Errorf("reply %q: %v", reply, err)
		}
	}
}

func FuzzCursor(f *testing.F) {
	f.Add("NTp4")
	f.Fuzz(func(t *testing.T, cursor string) {
		if p, ok := parseCursor(cursor); ok && !strings.HasPrefix(cursor, "LTA") {
			if again, ok := parseCursor(formatCursor(*p)); !ok || *again != *p {
				t.Fatalf("%q: %+v, then %+v", cursor, p, again)
			}
		}
	})
}

func BenchmarkList50(b *testing.B) { benchmark(b, `{}`) }

func BenchmarkList50Messages5(b *testing.B) { benchmark(b, `{"messageLimit":5}`) }

func benchmark(b *testing.B, args string) {
	h := many(60)
	text := strings.Repeat(`All is well: the build passed, see \"log\".\n`, 6)
	for key := range h.Messages {
		for i := range 20 {
			h.Messages[key] = append(h.Messages[key], abi.Message{Seq: int64(i + 10), JSON: []byte(`{"role":"assistant","content":[{"type":"text","text":"` + text + `"}],"usage":{"totalTokens":3},"timestamp":1700000000000}`)})
		}
	}
	rec := &recorder{Host: h}
	in := &guest.Input{Caller: operator, Args: args}
	if _, err := Call(rec, in, nil); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		rec.next = 0
		if _, err := Call(rec, in, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// recorder replays the replies that the host gave in the first call of the tool, so that a benchmark measures only the
// guest.
type recorder struct {
	guest.Host
	replies [][]byte
	next    int
}

func (r *recorder) Call(namespace string, request []byte) []byte {
	if r.next == len(r.replies) {
		r.replies = append(r.replies, r.Host.Call(namespace, request))
	}
	r.next++
	return r.replies[r.next-1]
}
