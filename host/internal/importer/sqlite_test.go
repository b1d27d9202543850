package importer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host/store/sqlite"
)

func openDB(t *testing.T) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(context.Background(), filepath.Join(t.TempDir(), "parley.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// contents reads these sessions from the database, as JSON: each with its messages,
// oldest first.
func contents(t *testing.T, db *sqlite.DB, keys []string) map[string]string {
	t.Helper()
	ctx := context.Background()
	view, err := db.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	all := map[string]string{}
	for _, key := range keys {
		s, err := view.Get(ctx, key)
		if err != nil || s == nil {
			t.Fatalf("%s: %v, %v", key, s, err)
		}
		page, err := view.History(ctx, &abi.HistoryRequest{SessionKey: key, Limit: 1000, MaxBytes: 64 << 20})
		if err != nil || page.More {
			t.Fatalf("history of %s: more %v, %v", key, page.More, err)
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%s\n", s.AppendJSON(nil))
		for _, m := range slices.Backward(page.Messages) {
			fmt.Fprintf(&b, "%s\n", m.JSON)
		}
		all[key] = b.String()
	}
	return all
}

// expected returns the sessions of a memory store in the same form.
func expected(m *memory) map[string]string {
	all := map[string]string{}
	for key, s := range m.sessions {
		var b strings.Builder
		fmt.Fprintf(&b, "%s\n", s.AppendJSON(nil))
		for _, msg := range s.Messages {
			fmt.Fprintf(&b, "%s\n", msg.JSON)
		}
		all[key] = b.String()
	}
	return all
}

// TestSQLite imports the demo into SQLite twice, and compares the contents with those of
// a memory store.
func TestSQLite(t *testing.T) {
	ctx := context.Background()
	m := newMemory()
	want := mustImport(t, demo, m)
	keys := slices.Sorted(maps.Keys(m.sessions))

	db := openDB(t)
	first, err := Import(ctx, demo, db, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("report (-memory +sqlite):\n%s", diff)
	}
	if diff := cmp.Diff(expected(m), contents(t, db, keys)); diff != "" {
		t.Errorf("contents (-memory +sqlite):\n%s", diff)
	}
	again, err := Import(ctx, demo, db, nil)
	if err != nil {
		t.Fatal(err)
	}
	if again.Sessions.Unchanged != len(keys) || again.Messages.Unchanged != first.Messages.Inserted || again.Transcripts.Read != 0 {
		t.Errorf("again: sessions %v, messages %v, transcripts %+v", again.Sessions, again.Messages, again.Transcripts)
	}
	if diff := cmp.Diff(expected(m), contents(t, db, keys)); diff != "" {
		t.Errorf("contents after importing again:\n%s", diff)
	}
}

func TestSQLiteUpdates(t *testing.T) {
	ctx := context.Background()
	db := openDB(t)
	dir := build(t, oneSession(messageLine("a", "user", "one"), messageLine("b", "assistant", "two")))
	if _, err := Import(ctx, dir, db, nil); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "agents/main/sessions/s1.jsonl", header("s1")+messageLine("a", "user", "ONE!")+messageLine("b", "assistant", "two")+messageLine("c", "user", "three"))
	r, err := Import(ctx, dir, db, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Counts{Inserted: 1, Updated: 1, Unchanged: 1}); r.Messages != want {
		t.Errorf("messages %v, want %v", r.Messages, want)
	}
	got := contents(t, db, []string{"agent:main:main"})["agent:main:main"]
	if i, j, k := strings.Index(got, "ONE!"), strings.Index(got, "two"), strings.Index(got, "three"); i < 0 || j < i || k < j {
		t.Errorf("messages: %s", got)
	}
}

func TestSQLiteInterrupted(t *testing.T) {
	f := files{}
	var entries []string
	for i := range 8 {
		id := fmt.Sprint("s", i)
		entries = append(entries, fmt.Sprintf(`"agent:main:%s":{"sessionId":"%s","updatedAt":%d}`, id, id, i+1))
		var lines strings.Builder
		for j := range maxBatchPuts / 4 {
			lines.WriteString(messageLine(fmt.Sprint(j), "user", "hi"))
		}
		f["agents/main/sessions/"+id+".jsonl"] = header(id) + lines.String()
	}
	f[mainStore] = "{" + strings.Join(entries, ",") + "}"
	dir := build(t, f)
	db := openDB(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	// The first progress report after a commit cancels the import.
	stop := func(p Progress) {
		if p.Messages > 0 {
			cancel()
		}
	}
	im := &Options{Progress: stop, progressInterval: -1}
	if _, err := Import(ctx, dir, db, im); !errors.Is(err, context.Canceled) {
		t.Fatalf("err %v", err)
	}
	r, err := Import(context.Background(), dir, db, nil)
	if err != nil {
		t.Fatal(err)
	}
	total := 8 * maxBatchPuts / 4
	if n := r.Messages.Inserted + r.Messages.Unchanged; n != total || r.Messages.Unchanged == 0 || r.Messages.Inserted == 0 || r.Transcripts.Unchanged == 0 {
		t.Errorf("second import: messages %v of %d, transcripts %+v", r.Messages, total, r.Transcripts)
	}
}

// TestListKinds lists imported sessions by kind: cron sessions, newest first, and main
// sessions.
func TestListKinds(t *testing.T) {
	ctx := context.Background()
	db := openDB(t)
	if _, err := Import(ctx, demo, db, nil); err != nil {
		t.Fatal(err)
	}
	view, err := db.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	page, err := view.List(ctx, &abi.ListRequest{Kinds: []string{sessionkey.KindCron}, Limit: 5, MaxBytes: abi.DefaultMaxBytes})
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Rows) != 5 || !page.More {
		t.Fatalf("%d rows, more %v", len(page.Rows), page.More)
	}
	for i, row := range page.Rows {
		if row.Session.Kind != sessionkey.KindCron || i > 0 && row.Session.UpdatedAt > page.Rows[i-1].Session.UpdatedAt {
			t.Errorf("row %d: %s of kind %s, %d", i, row.Session.Key, row.Session.Kind, row.Session.UpdatedAt)
		}
	}
	page, err = view.List(ctx, &abi.ListRequest{Kinds: []string{sessionkey.KindMain}, Limit: 50, MaxBytes: abi.DefaultMaxBytes})
	if err != nil {
		t.Fatal(err)
	}
	var mains []string
	for _, row := range page.Rows {
		mains = append(mains, row.Session.Key)
	}
	if diff := cmp.Diff([]string{"agent:main:main", "agent:research:main", "agent:ops:main"}, mains); diff != "" {
		t.Errorf("main sessions:\n%s", diff)
	}
}
