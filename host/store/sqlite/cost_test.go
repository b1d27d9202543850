package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	driver "modernc.org/sqlite"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/storegen"
	"github.com/parley-wasm/parley/host/store"
)

// query is a query on a snapshot.
type query struct {
	name string
	run  func(context.Context, store.Snapshot) (rows int, err error)
	rows int // expected
}

func listQuery(name string, rows int, r abi.ListRequest) query {
	if r.Limit == 0 {
		r.Limit = 50
	}
	return query{name, func(ctx context.Context, v store.Snapshot) (int, error) {
		page, err := v.List(ctx, &r)
		return len(page.Rows), err
	}, rows}
}

func historyQuery(name string, rows int, r abi.HistoryRequest) query {
	return query{name, func(ctx context.Context, v store.Snapshot) (int, error) {
		page, err := v.History(ctx, &r)
		return len(page.Messages), err
	}, rows}
}

var (
	now      = time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC)
	recently = now.Add(-storegen.RecentMinutes * time.Minute).UnixMilli()
	noTools  = store.ToolResultRoles
	tree     = &abi.Scope{Keys: []string{storegen.MainKey}, SpawnedBy: storegen.MainKey}
	everyone = &abi.Scope{Agents: []string{"*"}}
	several  = &abi.Scope{Agents: []string{"main", "r*"}}
)

// queries are run on stores of different sizes and return the same number of rows.
var queries = []query{
	listQuery("50", 50, abi.ListRequest{}),
	listQuery("50 with 5 messages each", 50, abi.ListRequest{Messages: 5}),
	listQuery("50, archived too", 50, abi.ListRequest{IncludeArchived: true}),
	listQuery("20 of two agents", 20, abi.ListRequest{Scope: several, Limit: 20}),
	listQuery("20 after a row", 20, abi.ListRequest{Limit: 20, After: &abi.Position{UpdatedAt: now.UnixMilli() - 3*86_400_000}}),
	listQuery("5 by kind", 5, abi.ListRequest{Kinds: []string{"cron"}}),
	listQuery("5 by kind, archived too", 5, abi.ListRequest{Kinds: []string{"cron"}, IncludeArchived: true}),
	listQuery("5 by kind in every agent", 5, abi.ListRequest{Kinds: []string{"hook"}, Scope: everyone}),
	listQuery("11 by kinds", 11, abi.ListRequest{Kinds: []string{"cron", "hook", "main"}}),
	listQuery("5 by agent", 5, abi.ListRequest{AgentID: storegen.RareAgent}),
	listQuery("5 by agent in scope", 5, abi.ListRequest{Scope: &abi.Scope{Agents: []string{storegen.RareAgent}}}),
	listQuery("5 by label", 5, abi.ListRequest{Label: storegen.RareLabel}),
	listQuery("5 by label and kind", 5, abi.ListRequest{Label: storegen.RareLabel, Kinds: []string{"group"}}),
	listQuery("0 by label and kind", 0, abi.ListRequest{Label: storegen.RareLabel, Kinds: []string{"cron"}}),
	listQuery("5 by time", 5, abi.ListRequest{ActiveSince: recently}),
	listQuery("5 by time and kind in scope", 5, abi.ListRequest{ActiveSince: recently, Kinds: []string{"group"}, Scope: several, IncludeArchived: true}),
	listQuery("6 by tree", 6, abi.ListRequest{Scope: tree}),
	listQuery("5 by tree and kind", 5, abi.ListRequest{Scope: tree, Kinds: []string{"other"}}),
	listQuery("0 by tree and label", 0, abi.ListRequest{Scope: tree, Label: storegen.RareLabel}),
	listQuery("2 by key", 2, abi.ListRequest{Scope: &abi.Scope{Keys: []string{storegen.MainKey, storegen.LongKey, "agent:main:absent"}}}),
	listQuery("nothing in scope", 0, abi.ListRequest{Scope: &abi.Scope{}}),
	{"the 20 newest parents", func(ctx context.Context, v store.Snapshot) (int, error) {
		parents, err := v.(store.View).Parents(ctx, 20)
		return len(parents), err
	}, 20},
	historyQuery("20 messages", 20, abi.HistoryRequest{SessionKey: storegen.MainKey, Limit: 50}),
	historyQuery("12 messages without tools", 12, abi.HistoryRequest{SessionKey: storegen.MainKey, Limit: 50, ExcludeRoles: noTools}),
	historyQuery("50 of a long transcript", 50, abi.HistoryRequest{SessionKey: storegen.LongKey, Limit: 50}),
	historyQuery("50 of its messages without tools, skipping 240", 50, abi.HistoryRequest{SessionKey: storegen.LongKey, Limit: 50, ExcludeRoles: noTools, Skip: 240}),
	historyQuery("50 before one", 50, abi.HistoryRequest{SessionKey: storegen.LongKey, Limit: 50, Before: 400, ExcludeRoles: noTools}),
}

// TestCost counts the pages that SQLite touches for a query. With twenty times the
// sessions, or a transcript twenty times as long, the number may only grow with the
// depth of the indexes (grows).
func TestCost(t *testing.T) {
	small := generated(t, storegen.Options{Sessions: 150, Messages: 20, LongMessages: 800, Now: now})
	big := generated(t, storegen.Options{Sessions: 3000, Messages: 20, LongMessages: 16_000, Now: now})
	for _, q := range queries {
		few, many := pagesFor(t, small, q), pagesFor(t, big, q)
		t.Logf("%-46s %4d pages in the small store, %4d in the big one", q.name, few, many)
		if grows(few, many) {
			t.Errorf("%s: %d pages in the small store, %d in the big one", q.name, few, many)
		}
	}
	// Check the measurement itself: a search may read the whole store.
	q := listQuery("search", 0, abi.ListRequest{Search: "absent", IncludeArchived: true})
	if few, many := pagesFor(t, small, q), pagesFor(t, big, q); !grows(few, many) {
		t.Errorf("a search of the whole store touches %d and %d pages; the measurement does not work", few, many)
	}
}

// grows reports whether the number of pages grows more than the depth of indexes, which
// are at most twice as deep in the big store.
func grows(small, big int) bool { return big > 2*small+4 }

func generated(t testing.TB, o storegen.Options) *DB {
	t.Helper()
	db, err := Open(context.Background(), filepath.Join(t.TempDir(), "parley.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := storegen.Generate(context.Background(), db, &o); err != nil {
		t.Fatal(err)
	}
	return db
}

// pagesFor runs a query twice, the second time with all statements compiled. It returns
// the number of pages that the second run read from the cache or from the file.
func pagesFor(t *testing.T, db *DB, q query) int {
	t.Helper()
	v, err := db.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	pages := 0
	for range 2 {
		touched(t, v)
		rows, err := q.run(context.Background(), v)
		if err != nil || rows != q.rows {
			t.Fatalf("%s: %d rows, %v; want %d", q.name, rows, err, q.rows)
		}
		pages = touched(t, v)
	}
	return pages
}

// touched returns the number of pages that the snapshot's connection has touched since
// the last call.
func touched(t *testing.T, v store.Snapshot) (pages int) {
	t.Helper()
	err := v.(*snapshot).conn.Raw(func(c any) error {
		status, ok := c.(driver.DBStatus)
		if !ok {
			return fmt.Errorf("%T has no counters", c)
		}
		for _, op := range []driver.DBStatusOp{driver.DBStatusCacheHit, driver.DBStatusCacheMiss} {
			n, _, err := status.Status(op, true)
			if err != nil {
				return err
			}
			pages += n
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}
