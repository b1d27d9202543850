package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/internal/relational"
)

func openDB(t *testing.T) *DB {
	t.Helper()
	db, err := Open(context.Background(), filepath.Join(t.TempDir(), "parley.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// TestPragmas checks the settings on which durability and isolation depend.
func TestPragmas(t *testing.T) {
	t.Parallel()
	db := openDB(t)
	v, err := db.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	const full = "2"
	for _, c := range []struct {
		name, pragma string
		on           *conn
		want         string
	}{
		{"writer", "journal_mode", db.writer.conn, "wal"},
		{"writer", "synchronous", db.writer.conn, full},
		{"writer", "foreign_keys", db.writer.conn, "1"},
		{"writer", "busy_timeout", db.writer.conn, "5000"},
		{"reader", "journal_mode", v.(*snapshot).conn, "wal"},
		{"reader", "query_only", v.(*snapshot).conn, "1"},
		{"reader", "busy_timeout", v.(*snapshot).conn, "5000"},
	} {
		var got string
		if _, err := c.on.Row(context.Background(), relational.Fixed("PRAGMA "+c.pragma), nil, &got); err != nil || got != c.want {
			t.Errorf("%s: %s is %q, %v; want %q", c.name, c.pragma, got, err, c.want)
		}
	}
	if err := v.(*snapshot).conn.Exec(context.Background(), relational.Fixed("INSERT INTO marks (name, value) VALUES ('a', 'b')")); err == nil {
		t.Error("a reader can write")
	}
}

// TestDiskFull fills the database. A load that does not fit is rolled back, and the
// store remains usable.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := openDB(t)
	if err := db.writer.Exec(ctx, relational.Fixed("PRAGMA max_page_count = 100")); err != nil {
		t.Fatal(err)
	}
	fill := func(n int) error {
		return db.Load(ctx, func(b store.Batch) error {
			for i := range n {
				key := fmt.Sprintf("agent:main:%d", i)
				// Even if the caller ignores errors, no part may be committed.
				_, _ = b.PutSession(&abi.Session{Key: key}, nil)
				_, _ = b.PutMessage(key, &store.Message{Role: "user", JSON: []byte(`{"content":"` + strings.Repeat("x", 10_000) + `"}`)})
			}
			return nil
		})
	}
	err := fill(200)
	if err == nil || !strings.Contains(err.Error(), "disk is full") || !strings.Contains(err.Error(), db.path) {
		t.Errorf("a load that does not fit: %v", err)
	}
	if err := fill(3); err != nil {
		t.Errorf("a load that fits: %v", err)
	}
	v, err := db.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	if page, err := v.List(ctx, &abi.ListRequest{Limit: 100}); err != nil || len(page.Rows) != 3 {
		t.Errorf("lists %v, %v", page, err)
	}
}

// TestBrokenReader closes a reader's connection without the pool's knowledge. The
// snapshot fails, and the next one gets a new connection.
func TestBrokenReader(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := openDB(t)
	v, err := db.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := v.(*snapshot).conn.Conn.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Get(ctx, "agent:main:x"); err == nil {
		t.Error("a read from a broken snapshot succeeded")
	}
	if err := v.Close(); err == nil {
		t.Error("closing a broken snapshot returned no error")
	}
	if v, err = db.Snapshot(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Get(ctx, "agent:main:x"); err != nil {
		t.Errorf("the next snapshot: %v", err)
	}
	if err := v.Close(); err != nil {
		t.Error(err)
	}
}

func TestInvalidRequests(t *testing.T) {
	t.Parallel()
	db := openDB(t)
	v, err := db.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	for _, limit := range []int{-1, 0, 1001} {
		_, err := v.List(context.Background(), &abi.ListRequest{Limit: limit})
		_, err2 := v.History(context.Background(), &abi.HistoryRequest{SessionKey: "agent:main:x", Limit: limit})
		if !errors.Is(err, abi.InvalidArgs) || !errors.Is(err2, abi.InvalidArgs) {
			t.Errorf("limit %d: %v, %v; want invalid_args", limit, err, err2)
		}
	}
	for _, r := range []abi.HistoryRequest{{Limit: 1, Skip: -1}, {Limit: 1, Before: -1}} {
		if _, err := v.History(context.Background(), &r); !errors.Is(err, abi.InvalidArgs) {
			t.Errorf("%+v: %v; want invalid_args", r, err)
		}
	}
}
