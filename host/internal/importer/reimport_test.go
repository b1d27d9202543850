package importer

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-wasm/parley/abi/sessionkey"
)

func TestReimportUnchanged(t *testing.T) {
	m := newMemory()
	first := mustImport(t, demo, m)
	before := m.dump("")
	again := mustImport(t, demo, m)
	want := Counts{Unchanged: first.Sessions.Inserted, Skipped: first.Sessions.Skipped}
	if again.Sessions != want {
		t.Errorf("sessions: %v, want %v", again.Sessions, want)
	}
	if want := (Counts{Unchanged: first.Messages.Inserted}); again.Messages != want {
		t.Errorf("messages: %v, want %v", again.Messages, want)
	}
	if again.Transcripts.Read != 0 || again.Transcripts.Unchanged != first.Transcripts.Read {
		t.Errorf("transcripts read again: %+v", again.Transcripts)
	}
	if again.Transcripts.KnownProblems == 0 {
		t.Error("the second report does not count the problems of unchanged transcripts")
	}
	if diff := cmp.Diff(before, m.dump("")); diff != "" {
		t.Errorf("the store changed:\n%s", diff)
	}
}

// TestReimportChanged changes a source and imports it again.
func TestReimportChanged(t *testing.T) {
	const file = "agents/main/sessions/s1.jsonl"
	a, b, c := messageLine("a", "user", "one"), messageLine("b", "assistant", "two"), messageLine("c", "user", "three")
	tests := []struct {
		name     string
		second   files
		sessions Counts
		messages Counts
		ids      string // in the store's order
	}{
		{"nothing", oneSession(a, b), Counts{Unchanged: 1}, Counts{Unchanged: 2}, "a b"},
		{"appended", oneSession(a, b, c), Counts{Unchanged: 1}, Counts{Inserted: 1, Unchanged: 2}, "a b c"},
		{"edited", oneSession(messageLine("a", "user", "ONE"), b), Counts{Unchanged: 1}, Counts{Updated: 1, Unchanged: 1}, "a b"},
		{"shortened", oneSession(b), Counts{Unchanged: 1}, Counts{Unchanged: 1}, "a b"},
		{"entry", files{mainStore: `{"main":{"sessionId":"s1","updatedAt":1770714000001,"label":"x"}}`, file: header("s1") + a + b}, Counts{Updated: 1}, Counts{Unchanged: 2}, "a b"},
		{"reset", files{mainStore: `{"main":{"sessionId":"s2","updatedAt":1770714000001}}`, "agents/main/sessions/s2.jsonl": header("s2") + c}, Counts{Updated: 1}, Counts{Inserted: 1}, "c"},
		{"half a line", oneSession(a, b, c[:40]), Counts{Unchanged: 1}, Counts{Unchanged: 2}, "a b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := newMemory()
			dir := build(t, oneSession(a, b))
			mustImport(t, dir, m)
			for name, text := range tt.second {
				write(t, dir, name, text)
			}
			r := mustImport(t, dir, m)
			if r.Sessions != tt.sessions || r.Messages != tt.messages {
				t.Errorf("sessions %v, want %v; messages %v, want %v", r.Sessions, tt.sessions, r.Messages, tt.messages)
			}
			var ids []string
			for _, msg := range m.sessions["agent:main:main"].Messages {
				ids = append(ids, msg.SourceID)
			}
			if got := strings.Join(ids, " "); got != tt.ids {
				t.Errorf("messages %q, want %q", got, tt.ids)
			}
		})
	}
}

// TestReimportAppended: the half-written last line of a live transcript is imported
// once it is complete, and lines without ids are not imported twice.
func TestReimportAppended(t *testing.T) {
	noID := `{"type":"message","message":{"role":"user","content":"same"}}` + "\n"
	whole := messageLine("c", "user", "three")
	dir := build(t, oneSession(noID, noID, whole[:len(whole)/2]))
	m := newMemory()
	r := mustImport(t, dir, m)
	if r.Messages.Inserted != 2 || r.Totals[Unfinished] != 1 || r.Totals[BrokenLine] != 0 {
		t.Fatalf("first import: %v, %v", r.Messages, r.Totals)
	}
	f, err := os.OpenFile(filepath.Join(dir, "agents/main/sessions/s1.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(whole[len(whole)/2:] + noID); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	r = mustImport(t, dir, m)
	if want := (Counts{Inserted: 2, Unchanged: 2}); r.Messages != want {
		t.Errorf("second import: %v, want %v", r.Messages, want)
	}
}

// TestReimportDeleted: the transcript of a session that was deleted from the store is
// read again, although its bookmark is unchanged.
func TestReimportDeleted(t *testing.T) {
	dir := build(t, oneSession(messageLine("a", "user", "one")))
	m := newMemory()
	mustImport(t, dir, m)
	delete(m.sessions, "agent:main:main")
	if r := mustImport(t, dir, m); r.Messages.Inserted != 1 {
		t.Errorf("messages %v, want one inserted", r.Messages)
	}
}

func TestInterrupted(t *testing.T) {
	f := files{}
	var entries []string
	for _, id := range strings.Fields("a b c d e f") {
		entries = append(entries, `"agent:main:`+id+`":{"sessionId":"`+id+`","updatedAt":1}`)
		var lines strings.Builder
		for i := range maxBatchPuts / 2 {
			lines.WriteString(messageLine(id+string(rune('0'+i%10))+strings.Repeat("x", i/10), "user", "hi"))
		}
		f["agents/main/sessions/"+id+".jsonl"] = header(id) + lines.String()
	}
	f[mainStore] = "{" + strings.Join(entries, ",") + "}"
	dir := build(t, f)
	want := newMemory()
	mustImport(t, dir, want)
	if want.loads < 3 {
		t.Fatalf("%d commits; the test needs at least 3", want.loads)
	}
	broken := errors.New("disk full")
	for _, how := range []string{"cancelled", "failed"} {
		t.Run(how, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			m := newMemory()
			wantErr := context.Canceled
			if how == "cancelled" {
				m.onLoad = func(n int) {
					if n == 2 {
						cancel()
					}
				}
			} else {
				wantErr = broken
				m.fail = func(n int) error {
					if n == 3 {
						return broken
					}
					return nil
				}
			}
			r, err := Import(ctx, dir, m, nil)
			if !errors.Is(err, wantErr) {
				t.Fatalf("err %v, want %v", err, wantErr)
			}
			stored := 0
			for _, s := range m.sessions {
				stored += len(s.Messages)
			}
			if r.Messages.Inserted != stored {
				t.Errorf("the report counts %d messages, the store has %d", r.Messages.Inserted, stored)
			}
			m.onLoad, m.fail = nil, nil
			r = mustImport(t, dir, m)
			if diff := cmp.Diff(want.dump(""), m.dump("")); diff != "" {
				t.Errorf("after the second import the store differs from that of a single import (-want +got):\n%s", diff)
			}
			if r.Transcripts.Unchanged == 0 {
				t.Error("committed transcripts were read again")
			}
		})
	}
}

func TestProgress(t *testing.T) {
	var all []Progress
	_, err := Import(context.Background(), demo, newMemory(), &Options{Progress: func(p Progress) { all = append(all, p) }})
	if err != nil {
		t.Fatal(err)
	}
	last := all[len(all)-1]
	if last.Done != last.Total || last.Total == 0 || last.Sessions == 0 || last.Messages == 0 {
		t.Errorf("the last progress report is incomplete: %+v", last)
	}
}

func TestMeter(t *testing.T) {
	now := time.UnixMilli(0)
	calls := 0
	m := &meter{report: func(Progress) { calls++ }, interval: progressInterval, now: func() time.Time { return now }, last: now}
	for range 1000 {
		now = now.Add(time.Millisecond)
		m.add(1)
	}
	if calls != 10 || m.Done != 1000 {
		t.Errorf("%d calls in a second, %d bytes", calls, m.Done)
	}
}

func TestKeysOption(t *testing.T) {
	m := newMemory()
	keys := &sessionkey.Settings{GlobalScope: true, DefaultAgent: "ops"}
	if _, err := Import(context.Background(), demo, m, &Options{Keys: keys}); err != nil {
		t.Fatal(err)
	}
	if s := m.sessions["global"]; s == nil || s.AgentID != "ops" || m.sessions["agent:main:main"] != nil {
		t.Errorf("under global scope every main session must become the global session; got %+v", s)
	}
}
