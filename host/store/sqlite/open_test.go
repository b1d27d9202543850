package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/sqlite"
	"github.com/parley-wasm/parley/host/store/storetest"
)

const key = "agent:main:x"

func putOne(t *testing.T, db *sqlite.DB) {
	t.Helper()
	err := db.Load(context.Background(), func(b store.Batch) error {
		_, err := b.PutSession(&abi.Session{Key: key, SessionID: "s"}, nil)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func listAll(t *testing.T, db *sqlite.DB) []string {
	t.Helper()
	v, err := db.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	page, err := v.List(context.Background(), storetest.Request())
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, r := range page.Rows {
		all = append(all, r.Session.Key)
	}
	return all
}

func historyOf(t *testing.T, db *sqlite.DB) []abi.Message {
	t.Helper()
	v, err := db.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	page, err := v.History(context.Background(), &abi.HistoryRequest{SessionKey: key, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	return page.Messages
}

// execRaw executes statements on a database without the store.
func execRaw(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func TestOpenCreates(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"parley.db", "a b?c=d&e#f%41'ü;.db", "plain"} {
		path := filepath.Join(t.TempDir(), "new", "folder", name)
		db := open(t, path)
		putOne(t, db)
		for file, want := range map[string]fs.FileMode{path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600, filepath.Dir(path): fs.ModeDir | 0o700} {
			info, err := os.Stat(file)
			if err != nil || info.Mode() != want {
				t.Errorf("%s: %v, %v; want %v", file, info, err, want)
			}
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		if files, err := os.ReadDir(filepath.Dir(path)); err != nil || len(files) != 1 {
			t.Errorf("after the close, the folder contains %v, %v; want only the database", files, err)
		}
		if got := listAll(t, open(t, path)); !slices.Equal(got, []string{key}) {
			t.Errorf("opened again: %v", got)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	newer := filepath.Join(t.TempDir(), "newer.db")
	if err := open(t, newer).Close(); err != nil {
		t.Fatal(err)
	}
	execRaw(t, newer, "PRAGMA journal_mode = DELETE", "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)")
	foreign := filepath.Join(t.TempDir(), "foreign.db")
	execRaw(t, foreign, "CREATE TABLE a (b)")
	marked := filepath.Join(t.TempDir(), "marked.db")
	execRaw(t, marked, "PRAGMA application_id = 7")
	text := filepath.Join(t.TempDir(), "text.db")
	short := filepath.Join(t.TempDir(), "short.db")
	brief := filepath.Join(t.TempDir(), "brief.db")
	damaged := filepath.Join(t.TempDir(), "damaged.db")
	if err := open(t, damaged).Close(); err != nil {
		t.Fatal(err)
	}
	corrupt(t, damaged)
	for path, content := range map[string]string{text: strings.Repeat("This is not a database. ", 1000), short: "x", brief: "SQLite\n"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		path string
		want []string // in the error, in addition to the path
	}{
		"a newer schema":         {newer, []string{"schema version 99", "newer than 4", "newer program"}},
		"another program's":      {foreign, []string{"another program", "another file"}},
		"another program's, new": {marked, []string{"another program", "another file"}},
		"text":                   {text, []string{"not a database"}},
		"a few bytes":            {brief, []string{"not a database"}},
		"a byte":                 {short, []string{"not a database"}},
		"damaged":                {damaged, []string{"damaged", "import again"}},
		"a folder":               {t.TempDir(), []string{"is a folder"}},
		"a device":               {os.DevNull, []string{"not a regular file"}},
		"below a file":           {filepath.Join(text, "x.db"), []string{"not a directory"}},
		"no permission: folder":  {"/proc/parley/x.db", []string{"cannot create the folder for"}},
		"no permission: file":    {"/proc/parley.db", []string{"cannot write"}},
		"an empty path":          {"", []string{"not a path"}},
		"an invalid path":        {"a\x00b", []string{"not a path"}},
	} {
		before, _ := os.ReadFile(c.path)
		db, err := sqlite.Open(context.Background(), c.path, nil)
		if err == nil {
			t.Errorf("%s: opened", name)
			_ = db.Close()
			continue
		}
		for _, want := range append(c.want, strings.TrimSuffix(c.path, "\x00b"), "sqlite: ") {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q does not contain %q", name, err, want)
			}
		}
		if strings.Count(err.Error(), "sqlite: ") > 1 {
			t.Errorf("%s: %q repeats the prefix", name, err)
		}
		if after, _ := os.ReadFile(c.path); !bytes.Equal(before, after) {
			t.Errorf("%s: the file was changed", name)
		}
		if side, _ := filepath.Glob(c.path + "-*"); len(side) > 0 {
			t.Errorf("%s: created %v", name, side)
		}
	}
	if _, err := sqlite.Open(context.Background(), filepath.Join(t.TempDir(), "x.db"), &sqlite.Options{Readers: -1}); err == nil {
		t.Error("opened with -1 readers")
	}
}

// TestOpenInterrupted opens the database of a first start that was interrupted before
// it created the schema.
func TestOpenInterrupted(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "parley.db")
	db := open(t, path)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	drop := []string{"PRAGMA application_id = 0", "DELETE FROM goose_db_version WHERE version_id > 0"}
	for _, table := range strings.Fields("message_raws messages session_extras sessions transcripts partitions marks flows runs deliveries work workers facts modules activations") {
		drop = append(drop, "DROP TABLE "+table)
	}
	execRaw(t, path, drop...)
	db = open(t, path)
	putOne(t, db)
	if got := listAll(t, db); !slices.Equal(got, []string{key}) {
		t.Errorf("lists %v", got)
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "parley.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	putOne(t, db)
	v, err := db.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	if s, err := v.Get(ctx, key); err != nil || s == nil {
		t.Errorf("a snapshot from before the close: %v, %v", s, err)
	}
	for range 2 {
		if err := v.Close(); err != nil {
			t.Errorf("close the snapshot: %v", err)
		}
	}
	_, err = db.Snapshot(ctx)
	_, err2 := db.Bookmark(ctx, "a")
	err3 := db.Load(ctx, func(store.Batch) error { return nil })
	for _, err := range []error{err, err2, err3} {
		if err == nil || !strings.Contains(err.Error(), "closed") {
			t.Errorf("a closed database: %v", err)
		}
	}
}

// TestReaders opens the maximum number of snapshots. A further one waits.
func TestReaders(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	db, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "parley.db"), &sqlite.Options{Readers: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	first, err := db.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	second, err := db.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	third := make(chan error)
	go func() {
		v, err := db.Snapshot(ctx)
		if err == nil {
			err = v.Close()
		}
		third <- err
	}()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-third; err != nil {
		t.Errorf("the third snapshot: %v", err)
	}
	if first, err = db.Snapshot(ctx); err != nil {
		t.Fatal(err)
	}
	brief, stop := context.WithDeadline(ctx, time.Now())
	defer stop()
	if _, err := db.Snapshot(brief); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a third snapshot whose deadline has passed: %v", err)
	}
	cancel()
	if err := errors.Join(first.Close(), second.Close()); err != nil {
		t.Errorf("close: %v", err)
	}
}

// corrupt overwrites the beginning of each page of a closed database, except for the
// first two pages.
func corrupt(t *testing.T, path string) {
	t.Helper()
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := 2 * 4096; at < len(doc); at += 4096 {
		copy(doc[at:], bytes.Repeat([]byte{0xaa}, 300))
	}
	if err := os.WriteFile(path, doc, 0o600); err != nil {
		t.Fatal(err)
	}
}
