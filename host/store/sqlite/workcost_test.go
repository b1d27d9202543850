package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

// workQuery returns a query about work.
func workQuery(name string, rows int, ask func(context.Context, store.View) (int, error)) query {
	return query{name, func(ctx context.Context, v store.Snapshot) (int, error) { return ask(ctx, v.(store.View)) }, rows}
}

// workQueries are run on stores with different amounts of finished work.
var workQueries = []query{
	workQuery("a flow by its call", 1, func(ctx context.Context, v store.View) (int, error) {
		f, err := v.FlowOf(ctx, store.CallKey{Scope: "s", ID: "open"})
		return one(f != nil), err
	}),
	workQuery("a run", 1, func(ctx context.Context, v store.View) (int, error) {
		r, err := v.Run(ctx, "open")
		return one(r != nil), err
	}),
	workQuery("its messages", 3, func(ctx context.Context, v store.View) (int, error) {
		m, err := v.RunMessages(ctx, "open")
		return len(m), err
	}),
	workQuery("runs, the newest 20", 20, runsLike(store.Filter{Limit: 20})),
	workQuery("runs of a status", 1, runsLike(store.Filter{Statuses: []string{abi.RunRunning}})),
	workQuery("runs of two statuses", 20, runsLike(store.Filter{Statuses: []string{abi.RunRunning, abi.RunDone}, Limit: 20})),
	workQuery("runs of a flow", 1, runsLike(store.Filter{FlowID: "open", Statuses: []string{abi.RunRunning}})),
	workQuery("runs of a session", 20, runsLike(store.Filter{SessionKey: "agent:main:busy", Limit: 20})),
	workQuery("runs since", 1, runsLike(store.Filter{Since: 1 << 40})),
	workQuery("deadlock check, blocked", 1, func(ctx context.Context, v store.View) (int, error) {
		waits, err := v.WouldBlock(ctx, "agent:main:busy", "open")
		return one(waits), err
	}),
	workQuery("deadlock check, not blocked", 0, func(ctx context.Context, v store.View) (int, error) {
		waits, err := v.WouldBlock(ctx, "agent:main:busy", "absent")
		return one(waits), err
	}),
	workQuery("due work", 1, func(ctx context.Context, v store.View) (int, error) {
		due, err := v.Due(ctx, store.KindRun)
		return len(due), err
	}),
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

func runsLike(f store.Filter) func(context.Context, store.View) (int, error) {
	return func(ctx context.Context, v store.View) (int, error) {
		runs, err := v.Runs(ctx, &f)
		return len(runs), err
	}
}

// TestWorkCost counts the pages for queries about work, as TestCost does.
func TestWorkCost(t *testing.T) {
	small, big := storeWithWork(t, 100), storeWithWork(t, 2000)
	for _, q := range workQueries {
		few, many := pagesFor(t, small, q), pagesFor(t, big, q)
		t.Logf("%-46s %4d pages in the small store, %4d in the big one", q.name, few, many)
		if grows(few, many) {
			t.Errorf("%s: %d pages in the small store, %d in the big one", q.name, few, many)
		}
	}
}

// storeWithWork returns a store with this many finished flows and runs, and an
// unfinished run for which a flow of another run of the session "busy" waits.
func storeWithWork(t *testing.T, over int) *DB {
	t.Helper()
	db, err := Open(context.Background(), filepath.Join(t.TempDir(), "parley.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	err = db.Update(context.Background(), func(tx store.Tx) error {
		const busy = "agent:main:busy"
		if err := tx.PutSession(&abi.Session{Key: busy}); err != nil {
			return err
		}
		put := func(id string, f *store.Flow, r *store.Run) error {
			f.ID, f.Call, r.ID, r.FlowID, r.SessionKey = id, store.CallKey{Scope: "s", ID: id}, id, id, busy
			f.Caller.RunID = id
			if err := tx.PutFlow(f); err != nil {
				return err
			}
			for range 3 {
				if err := tx.Append(busy, &store.Message{Role: "user", RunID: id, JSON: []byte(`{"content":"a text of some length, as messages have"}`)}); err != nil {
					return err
				}
			}
			return tx.PutRun(r)
		}
		for i := range over {
			at := int64(i + 1)
			if err := put(fmt.Sprint(i), &store.Flow{Status: store.FlowDone, AcceptedAt: at, EndedAt: at},
				&store.Run{Status: abi.RunDone, QueuedAt: at, EndedAt: at, Reply: "a reply of some length, as agents give"}); err != nil {
				return err
			}
		}
		if err := put("asks", &store.Flow{Status: store.FlowWaiting, WaitRun: "open", AcceptedAt: 1}, &store.Run{Status: abi.RunQueued, QueuedAt: 1}); err != nil {
			return err
		}
		if err := put("open", &store.Flow{Status: store.FlowDone, AcceptedAt: 1, EndedAt: 1}, &store.Run{Status: abi.RunRunning, QueuedAt: 1 << 41}); err != nil {
			return err
		}
		return tx.Schedule(store.KindRun, "open", 0)
	})
	if err != nil {
		t.Fatal(err)
	}
	return db
}
