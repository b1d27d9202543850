package host_test

import (
	"bytes"
	"compress/gzip"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/internal/chat"
	"github.com/parley-wasm/parley/host/internal/engine/wasmtest"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/plugin/wasm"
)

var addCompat = flag.String("former", "", "write the current version's database to testdata/former under this name, which must be new")

// Ids of calls whose flows the test retries or drops.
const (
	parkedToRetry = "parked-then-retried"
	parkedToDrop  = "parked-then-dropped"
)

// TestCompatCurrentVersion writes a database with the current program and completes its
// work, so that the current version can be added to testdata/former at any time.
func TestCompatCurrentVersion(t *testing.T) {
	folder := t.TempDir()
	writeCompat(t, folder)
	continueCompat(t, folder, servingModule{wasm: wasm.Parley})
	if *addCompat == "" || t.Failed() {
		return
	}
	to := filepath.Join(compatDir, *addCompat)
	if err := errors.Join(os.Mkdir(to, 0o755), os.CopyFS(to, os.DirFS(folder))); err != nil {
		t.Fatal(err)
	}
}

// writeCompat writes a version's files: its module, a database with unfinished work,
// and the expected results.
func writeCompat(t *testing.T, folder string) {
	write := func(name string, doc []byte) {
		if err := os.WriteFile(filepath.Join(folder, name), doc, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var calls []compatCall
	var reads []compatRead
	left := filepath.Join(t.TempDir(), "left.db")
	synctest.Test(t, func(t *testing.T) {
		w := &compatWriter{compatFixture: openCompat(t, dbPath(t), time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC))}
		w.turns, w.hang, w.release = map[string]int{}, map[string]int{}, map[string]chan struct{}{}
		w.failing = true
		w.addSessions()
		w.open(wasm.Parley, "")
		if err := w.host.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.addEndedWork()
		w.addParkedFlows()
		w.addOpenWork()
		w.copyCrashed(left)
		rows := w.rows()
		calls, reads = w.calls, w.read(w.queries(rows))
		write("rows.json", encode(t, rows))
		w.close()
	})
	write("parley.wasm", wasm.Parley)
	write("parley.db.gz", pack(t, left))
	write("calls.json", encode(t, calls))
	write("reads.json", encode(t, reads))
	before := &compatRows{}
	readCompat(t, folder, "rows.json", before)
	path := unpackCompat(t, folder)
	synctest.Test(t, func(t *testing.T) {
		w := openCompat(t, path, time.UnixMilli(before.Now))
		w.open(wasm.Parley, "")
		after, _ := w.end(before, calls)
		w.close()
		write("end.json", encode(t, after.outline(true)))
	})
}

// compatWriter is a fixture in which agents hang and channels fail.
type compatWriter struct {
	*compatFixture
	calls []compatCall
}

// call makes a call and records it for repetition. It waits at most a second for the
// answer.
func (w *compatWriter) call(id, tool, as, args string) {
	w.Helper()
	c := compatCall{ID: id, Tool: tool, Args: json.RawMessage(args), Caller: session(as)}
	w.calls = append(w.calls, c)
	go w.host.Call(w.Context(), c.host()) // the answer does not matter, only the flow
	w.settle()
}

// settle executes all work that is due within a second; deterministicStore delays each
// notification of a flow by a millisecond.
func (w *compatWriter) settle() {
	time.Sleep(time.Second)
	synctest.Wait()
}

// message sends an inbound message to a session.
func (w *compatWriter) message(key, text string, deliver bool) string {
	w.Helper()
	accepted, err := w.host.StartAgent(w.Context(), &chat.AgentRequest{SessionKey: key, Message: text, Deliver: deliver, RequestID: strings.ReplaceAll(text, " ", "-")})
	if err != nil {
		w.Fatal(err)
	}
	w.settle()
	return accepted.RunID
}

// addEndedWork adds flows, runs and deliveries with every kind of end.
func (w *compatWriter) addEndedWork() {
	w.Helper()
	if _, err := w.host.Send(w.Context(), &chat.Message{SessionKey: "main", Text: "good morning", From: "1", Target: abi.Target{Channel: "telegram", To: "1"}}); err != nil {
		w.Fatal(err)
	}
	w.settle()
	w.call("sent", abi.ToolSend, "agent:main:asks", `{"sessionKey":"agent:ops:main","message":"Are the backups done?"}`)
	w.call("sent-to-one-that-fails", abi.ToolSend, "agent:main:asks", `{"sessionKey":"agent:ops:fails","message":"hello"}`)
	w.call("spawned-and-archived", abi.ToolSpawn, "agent:main:spawns", `{"task":"count the files","label":"files","agentId":"ops"}`)
	w.call("spawned-and-deleted", abi.ToolSpawn, "agent:main:spawns", `{"task":"count the lines","cleanup":"delete"}`)
	w.message("agent:ops:slack", "refused", true)
	w.message("agent:ops:discord", "given up", true)
	w.message("agent:main:next", "no channel", true)
	w.hang["agent:main:busy"] = 1
	if _, err := w.host.AbortRun(w.Context(), w.message("agent:main:busy", "to be killed", false), "enough"); err != nil {
		w.Fatal(err)
	}
	w.pass(3 * archiveAfter)
}

// addParkedFlows adds two parked flows: it swaps to a plugin version that cannot resume
// them.
func (w *compatWriter) addParkedFlows() {
	w.Helper()
	release := make(chan struct{})
	for n, id := range []string{parkedToRetry, parkedToDrop} {
		key := fmt.Sprintf("agent:ops:later:%d", n+1)
		w.release[key] = release
		w.call(id, abi.ToolSend, "agent:main:asks:again", fmt.Sprintf(`{"sessionKey":%q,"message":"hello","timeoutSeconds":0}`, key))
	}
	bad := wasmtest.Plugin(wasmtest.Unreachable)
	bad.Funcs[0].Body = wasmtest.Code(wasmtest.SetOutput(`{"abi":1,"name":"parley","version":"bad","stateVersion":1,"resumes":[1,1],"capabilities":[],`+
		`"tools":[{"name":"sessions_send","description":"","inputSchema":{"type":"object"},"outputSchema":{"type":"object"},"readOnly":false,"needs":[]}]}`), wasmtest.I32(0))
	bad.Funcs[2].Body = wasmtest.Unreachable
	if _, err := w.host.Swap(w.Context(), &host.PluginFile{Wasm: bad.Encode(), Origin: "bad.wasm"}); err != nil {
		w.Fatal(err)
	}
	close(release)
	w.settle()
}

// addOpenWork adds work that waits in every possible state. Calls that wait for announces
// and turns come last, because they wait at most a minute.
func (w *compatWriter) addOpenWork() {
	w.Helper()
	for key, from := range map[string]int{
		"agent:ops:first": 1, "agent:main:plays": 1, "agent:ops:tells": 2, "agent:main:reads": 1, "agent:main:busy": 1,
	} {
		w.hang[key] = w.turns[key] + from
	}
	w.message("agent:ops:discord", "tried again", true)
	w.message("agent:ops:discord", "tried again behind it", true)
	w.pass(4 * time.Minute)
	w.message("agent:ops:discord", "not tried yet", true)
	w.call("waits-for-its-run", abi.ToolSend, "agent:main:asks", `{"sessionKey":"agent:ops:first","message":"the first","timeoutSeconds":3600}`)
	w.call("its-run-is-queued", abi.ToolSend, "agent:main:asks:again", `{"sessionKey":"agent:ops:first","message":"the second","timeoutSeconds":0}`)
	w.call("waits-for-archive-time", abi.ToolSpawn, "agent:main:spawns", `{"task":"read the log","label":"log"}`)
	w.call("waits-for-the-report", abi.ToolSpawn, "agent:main:reads", `{"task":"report to me","announce":"parent"}`)
	w.call("waits-for-the-child-announce", abi.ToolSpawn, "agent:main:spawns", `{"task":"hang from turn 2","label":"announcing"}`)
	w.call("waits-for-its-child", abi.ToolSpawn, "agent:main:spawns", `{"task":"hang from turn 1","label":"working","runTimeoutSeconds":7200}`)
	w.call("its-child-is-queued", abi.ToolSpawn, "agent:main:spawns", `{"task":"count the words","agentId":"ops","cleanup":"delete"}`)
	w.call("waits-for-a-turn", abi.ToolSend, "agent:main:plays", `{"sessionKey":"agent:ops:plays","message":"let us play"}`)
	w.call("waits-for-its-announce", abi.ToolSend, "agent:main:asks", `{"sessionKey":"agent:ops:tells","message":"say it there"}`)
	w.message("agent:main:busy", "interrupted", false)
	w.message("agent:main:busy", "queued behind it", false)
	w.message("agent:main:next", "queued in its group", true)
}

// queries returns calls of the read-only tools for all sessions.
func (w *compatWriter) queries(rows *compatRows) []compatRead {
	w.Helper()
	all := compatCall{Tool: abi.ToolList, Args: json.RawMessage(`{"limit":200,"includeArchived":true,"messageLimit":2}`), Caller: operator}
	answer, err := w.host.Call(w.Context(), all.host())
	if err != nil {
		w.Fatal(err)
	}
	boxed := session("agent:ops:boxed")
	boxed.Sandboxed = true
	queries := []compatRead{{compatCall: all}}
	for _, c := range []abi.Caller{session("agent:main:main"), session("agent:main:spawns"), boxed} {
		queries = append(queries, compatRead{compatCall: compatCall{Tool: abi.ToolList, Args: json.RawMessage(`{}`), Caller: c}})
	}
	queries = append(queries, compatRead{compatCall: compatCall{Tool: abi.ToolAgents, Args: json.RawMessage(`{}`), Caller: session("agent:main:main")}})
	for _, key := range gjson.GetBytes(answer.Result, "sessions.#.key").Array() {
		args := fmt.Sprintf(`{"sessionKey":%q,"includeTools":true,"limit":50}`, key.Str)
		queries = append(queries, compatRead{compatCall: compatCall{Tool: abi.ToolHistory, Args: json.RawMessage(args), Caller: operator}})
	}
	return queries
}

// copyCrashed copies the database in the state that a crash would leave now.
func (w *compatWriter) copyCrashed(to string) {
	w.Helper()
	for _, suffix := range []string{"", "-wal"} {
		doc, err := os.ReadFile(w.path + suffix)
		if err == nil {
			err = os.WriteFile(to+suffix, doc, 0o600)
		}
		if err != nil {
			w.Fatal(err)
		}
	}
}

// pack returns a database as one compressed file.
func pack(t *testing.T, path string) []byte {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err == nil {
		_, err = z.Write(doc)
	}
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// addSessions stores sessions and their transcripts, as an importer does.
func (w *compatWriter) addSessions() {
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
		return errors.Join(err, b.SetBookmark("test", "17"))
	})
	if err != nil {
		w.Fatal(err)
	}
}
