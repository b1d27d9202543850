package host_test

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

// sessions stores sessions and their transcripts, as an importer does.
func (w *formerWriter) sessions() {
	w.Helper()
	at := w.at.Add(-24 * time.Hour).UnixMilli()
	tokens, yes := int64(61240), true
	telegram := func(key, to string) abi.Session {
		return abi.Session{Key: key, SessionID: "id-of-" + strings.ReplaceAll(key, ":", "-"), UpdatedAt: at, LastChannel: "telegram", LastTo: to}
	}
	rows := []abi.Session{
		{
			Key: "agent:main:main", SessionID: "0a", UpdatedAt: at + 5, DisplayName: "Main", ChatType: "direct", LastChannel: "telegram", LastTo: "1", LastAccountID: "bot", LastThreadID: "7",
			Model: "large", ContextTokens: &tokens, TotalTokens: &tokens, ThinkingLevel: "low", VerboseLevel: "on", SystemSent: &yes, AbortedLastRun: &yes, TranscriptPath: "/store/0a.jsonl",
		},
		{Key: "agent:main:telegram:group:-100", SessionID: "0b", UpdatedAt: at + 4, Label: "family", Subject: "Größe & Maß", ChatType: "group", Channel: "telegram", DeliveryContext: abi.Target{Channel: "telegram", To: "-100"}},
		{Key: "agent:main:old", SessionID: "0c", UpdatedAt: at + 3, ArchivedAt: at + 3, Label: "old"},
		{Key: "agent:ops:boxed", SessionID: "0d", UpdatedAt: at + 2, Sandboxed: true, SendPolicy: "deny", ModelOverride: "small"},
		{Key: "agent:main:subagent:0e", SessionID: "0e", UpdatedAt: at + 1, SpawnedBy: "agent:main:main", Label: "child", Status: abi.RunDone},
		{Key: "global", SessionID: "0f", UpdatedAt: at},
		telegram("agent:main:asks", "2"), telegram("agent:main:asks:again", "3"), telegram("agent:main:plays", "4"), telegram("agent:main:spawns", "5"), telegram("agent:main:reads", "10"),
		telegram("agent:ops:first", "6"), telegram("agent:ops:plays", "7"), telegram("agent:ops:tells", "8"), telegram("agent:ops:main", "9"),
		{Key: "agent:ops:discord", SessionID: "1a", UpdatedAt: at, LastChannel: "discord", LastTo: "ops"},
		{Key: "agent:ops:slack", SessionID: "1b", UpdatedAt: at, LastChannel: "slack", LastTo: "C1"},
	}
	for _, key := range []string{"agent:ops:fails", "agent:ops:later:1", "agent:ops:later:2", "agent:main:busy", "agent:main:next"} {
		rows = append(rows, abi.Session{Key: key, SessionID: "id-of-" + strings.ReplaceAll(key, ":", "-"), UpdatedAt: at})
	}
	err := w.db.Load(w.Context(), func(b store.Batch) error {
		for i := range rows {
			if _, err := b.PutSession(&rows[i], []byte(`{"origin":{"surface":"test"}}`)); err != nil {
				return err
			}
		}
		for i, m := range []store.Message{
			{Role: "user", JSON: []byte(`{"role":"user","content":"How are the servers?"}`)},
			{Role: "assistant", JSON: []byte(`{"role":"assistant","content":[{"type":"thinking","thinking":"look"},{"type":"toolCall","id":"t1","name":"exec","arguments":{"command":"uptime"}}]}`)},
			{Role: "toolResult", JSON: []byte(`{"role":"toolResult","toolCallId":"t1","toolName":"exec","content":[{"type":"text","text":"up 3 days"}]}`)},
			{Role: "assistant", JSON: []byte(`{"role":"assistant","content":[{"type":"text","text":"` + strings.Repeat("All is well. ", 1000) + `"}],"usage":{"input":12,"output":7}}`)},
		} {
			m.SourceID, m.At = fmt.Sprintf("m%d", i), at+int64(i)
			for _, key := range []string{"agent:main:main", "agent:main:old", "agent:ops:boxed", "global"} {
				if _, err := b.PutMessage(key, &m); err != nil {
					return err
				}
			}
		}
		rows[1].SessionID = "0b2" // a second transcript
		_, err := b.PutSession(&rows[1], nil)
		return errors.Join(err, b.SetMark("test", "17"))
	})
	if err != nil {
		w.Fatal(err)
	}
}
