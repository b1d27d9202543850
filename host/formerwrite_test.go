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
	"github.com/parley-wasm/parley/plugin/wasm"
)

var addFormer = flag.String("former", "", "write what this version leaves behind to testdata/former under this name, which must be new")

// Ids of calls of which a test does more than repeat them.
const (
	parkedToRetry = "parked-then-retried"
	parkedToDrop  = "parked-then-dropped"
)

// TestFormerOfNow writes a database with the current program, and continues it. So
// what this version leaves behind can be added to testdata/former at any time.
func TestFormerOfNow(t *testing.T) {
	folder := t.TempDir()
	writeFormer(t, folder)
	continueFormer(t, folder, serving{wasm: wasm.Parley})
	if *addFormer == "" || t.Failed() {
		return
	}
	to := filepath.Join(formerFolder, *addFormer)
	if err := errors.Join(os.Mkdir(to, 0o755), os.CopyFS(to, os.DirFS(folder))); err != nil {
		t.Fatal(err)
	}
}

// writeFormer writes the files of a former version: its module, a database that was
// left in the middle of its work, and what is expected of them.
func writeFormer(t *testing.T, folder string) {
	write := func(name string, doc []byte) {
		if err := os.WriteFile(filepath.Join(folder, name), doc, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var calls []formerCall
	var reads []formerRead
	left := filepath.Join(t.TempDir(), "left.db")
	synctest.Test(t, func(t *testing.T) {
		w := &formerWriter{formerWorld: openFormer(t, file(t), time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC))}
		w.turns, w.hang, w.let = map[string]int{}, map[string]int{}, map[string]chan struct{}{}
		w.troubled = true
		w.sessions()
		w.up(wasm.Parley, "")
		if err := w.host.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.ended()
		w.parked()
		w.open()
		w.leave(left)
		rows := w.rows()
		calls, reads = w.calls, w.read(w.queries(rows))
		write("rows.json", encode(t, rows))
		w.down()
	})
	write("parley.wasm", wasm.Parley)
	write("parley.db.gz", pack(t, left))
	write("calls.json", encode(t, calls))
	write("reads.json", encode(t, reads))
	before := &formerRows{}
	readFormer(t, folder, "rows.json", before)
	path := unpackFormer(t, folder)
	synctest.Test(t, func(t *testing.T) {
		w := openFormer(t, path, time.UnixMilli(before.Now))
		w.up(wasm.Parley, "")
		after, _ := w.end(before, calls)
		w.down()
		write("end.json", encode(t, after.outline(true)))
	})
}

// formerWriter is a world in which agents hang and channels fail.
type formerWriter struct {
	*formerWorld
	calls []formerCall
}

// call makes a call that is kept for being made again. One that waits for long is left
// waiting.
func (w *formerWriter) call(id, tool, as, args string) {
	w.Helper()
	c := formerCall{ID: id, Tool: tool, Args: json.RawMessage(args), Caller: session(as)}
	w.calls = append(w.calls, c)
	go w.host.Call(w.Context(), c.host()) // it may have no answer; its flow is what counts
	w.settle()
}

// settle lets everything happen that is to happen at once; tameStore lets flows hear
// of it a millisecond later, each time.
func (w *formerWriter) settle() {
	time.Sleep(time.Second)
	synctest.Wait()
}

// message sends a message from outside to a session.
func (w *formerWriter) message(key, text string, deliver bool) string {
	w.Helper()
	accepted, err := w.host.StartAgent(w.Context(), &chat.AgentRequest{SessionKey: key, Message: text, Deliver: deliver, RequestID: strings.ReplaceAll(text, " ", "-")})
	if err != nil {
		w.Fatal(err)
	}
	w.settle()
	return accepted.RunID
}

// ended leaves work that has ended, in all ways.
func (w *formerWriter) ended() {
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
	if _, err := w.host.KillRun(w.Context(), w.message("agent:main:busy", "to be killed", false), "enough"); err != nil {
		w.Fatal(err)
	}
	w.pass(3 * archiveAfter)
}

// parked leaves two flows that are parked: a version of the plugin that was swapped to
// for a while could not continue them.
func (w *formerWriter) parked() {
	w.Helper()
	let := make(chan struct{})
	for n, id := range []string{parkedToRetry, parkedToDrop} {
		key := fmt.Sprintf("agent:ops:later:%d", n+1)
		w.let[key] = let
		w.call(id, abi.ToolSend, "agent:main:asks:again", fmt.Sprintf(`{"sessionKey":%q,"message":"hello","timeoutSeconds":0}`, key))
	}
	bad := wasmtest.Plugin(wasmtest.Unreachable)
	bad.Funcs[0].Body = wasmtest.Code(wasmtest.Say(`{"abi":1,"name":"parley","version":"bad","stateVersion":1,"resumes":[1,1],"capabilities":[],`+
		`"tools":[{"name":"sessions_send","description":"","inputSchema":{"type":"object"},"outputSchema":{"type":"object"},"readOnly":false,"needs":[]}]}`), wasmtest.I32(0))
	bad.Funcs[2].Body = wasmtest.Unreachable
	if _, err := w.host.Swap(w.Context(), &host.Candidate{Wasm: bad.Encode(), Origin: "bad.wasm"}); err != nil {
		w.Fatal(err)
	}
	close(let)
	w.settle()
}

// open leaves work at every stage at which it can wait. Announces and turns last a
// minute at most: they come last.
func (w *formerWriter) open() {
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

// queries are calls of the tools that read, for all that is stored.
func (w *formerWriter) queries(rows *formerRows) []formerRead {
	w.Helper()
	all := formerCall{Tool: abi.ToolList, Args: json.RawMessage(`{"limit":200,"includeArchived":true,"messageLimit":2}`), Caller: operator}
	answer, err := w.host.Call(w.Context(), all.host())
	if err != nil {
		w.Fatal(err)
	}
	boxed := session("agent:ops:boxed")
	boxed.Sandboxed = true
	queries := []formerRead{{formerCall: all}}
	for _, c := range []abi.Caller{session("agent:main:main"), session("agent:main:spawns"), boxed} {
		queries = append(queries, formerRead{formerCall: formerCall{Tool: abi.ToolList, Args: json.RawMessage(`{}`), Caller: c}})
	}
	queries = append(queries, formerRead{formerCall: formerCall{Tool: abi.ToolAgents, Args: json.RawMessage(`{}`), Caller: session("agent:main:main")}})
	for _, key := range gjson.GetBytes(answer.Result, "sessions.#.key").Array() {
		args := fmt.Sprintf(`{"sessionKey":%q,"includeTools":true,"limit":50}`, key.Str)
		queries = append(queries, formerRead{formerCall: formerCall{Tool: abi.ToolHistory, Args: json.RawMessage(args), Caller: operator}})
	}
	return queries
}

// leave copies the database as it would be if the process died now.
func (w *formerWriter) leave(to string) {
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
