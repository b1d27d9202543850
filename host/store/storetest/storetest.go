// Package storetest contains the test suites of session stores: Exercise for every
// store, ExerciseDurable for stores that also keep flows, runs and deliveries, and
// ExerciseBackend for backends, which open stores and lock them for their owner. It also
// contains Memory, a simple store with which the suite compares others.
//
//	func TestStore(t *testing.T)   { storetest.Exercise(t, open) }
//	func TestDurable(t *testing.T) { storetest.ExerciseDurable(t, openDurable) }
//	func TestBackend(t *testing.T) { storetest.ExerciseBackend(t, backends) }
//
// The suites use only the interfaces of package store. A store's own tests must check
// the costs that those interfaces promise.
package storetest

import (
	"context"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

// Exercise runs the test suite of stores. open must return an empty store and close it
// when t ends. The suite uses stores of several calls at the same time.
func Exercise(t *testing.T, open func(t *testing.T) store.Loader) {
	for _, c := range []struct {
		name string
		test func(*testing.T, store.Loader)
	}{
		{"sessions are kept as they were put", testRoundTrip},
		{"keys decide agent and kind", testKeys},
		{"puts report changes", testChanges},
		{"another sessionId starts another transcript", testTranscripts},
		{"resolve by sessionId", testResolve},
		{"list: filters", testListFilters},
		{"list: scopes", testListScopes},
		{"list: main sessions and the global session", testListMain},
		{"list: search ignores case", testListSearch},
		{"list: pages are complete under ties", testListPages},
		{"list: messages", testListMessages},
		{"list: size of the reply", testListSize},
		{"history: order, before, skip, roles", testHistory},
		{"history: pages are complete", testHistoryPages},
		{"history: size of the reply", testHistorySize},
		{"history: a role that changes", testHistoryRoleChange},
		{"history: long messages are shortened", testLongMessages},
		{"a snapshot does not change", testIsolation},
		{"a load that fails is rolled back", testRollback},
		{"a batch ends with its load", testBatchEnds},
		{"bookmarks", testBookmarks},
		{"canceled contexts", testCancel},
		{"concurrent readers and writers", testConcurrency},
		{"many agents", testManyAgents},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, open(t)) })
	}
	t.Run("random requests", func(t *testing.T) { testRandom(t, open) })
}

// Request returns a request that lists all sessions.
func Request() *abi.ListRequest { return &abi.ListRequest{Limit: abi.MaxListLimit} }

// load runs fn in one Load, which must succeed.
func load(t testing.TB, s store.Loader, fn func(store.Batch) error) {
	t.Helper()
	if err := s.Load(context.Background(), fn); err != nil {
		t.Fatalf("load: %v", err)
	}
}

// put loads sessions.
func put(t testing.TB, s store.Loader, sessions ...*abi.Session) {
	t.Helper()
	load(t, s, func(b store.Batch) error {
		for _, x := range sessions {
			if _, err := b.PutSession(x, nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// view opens a snapshot and closes it when the test ends.
func view(t testing.TB, s store.Store) store.Snapshot {
	t.Helper()
	v, err := s.Snapshot(context.Background())
	if err != nil {
		t.Fatalf("snapshot: %v", err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Errorf("close the snapshot: %v", err)
		}
	})
	return v
}

// list returns the page for a request, from a new snapshot.
func list(t testing.TB, s store.Store, r *abi.ListRequest) *abi.ListPage {
	t.Helper()
	v, err := s.Snapshot(context.Background())
	if err != nil {
		t.Fatalf("snapshot: %v", err)
	}
	defer v.Close()
	page, err := v.List(context.Background(), r)
	if err != nil {
		t.Fatalf("list %s: %v", r.AppendJSON(nil), err)
	}
	return page
}

// history returns the page for a request, from a new snapshot.
func history(t testing.TB, s store.Store, r *abi.HistoryRequest) *abi.HistoryPage {
	t.Helper()
	v, err := s.Snapshot(context.Background())
	if err != nil {
		t.Fatalf("snapshot: %v", err)
	}
	defer v.Close()
	page, err := v.History(context.Background(), r)
	if err != nil {
		t.Fatalf("history %s: %v", r.AppendJSON(nil), err)
	}
	return page
}

// keys returns the keys of a page's rows.
func keys(p *abi.ListPage) []string {
	all := make([]string, 0, len(p.Rows))
	for _, r := range p.Rows {
		all = append(all, r.Session.Key)
	}
	return all
}

// texts returns the "content" of a page's messages.
func texts(messages []abi.Message) []string {
	all := make([]string, 0, len(messages))
	for _, m := range messages {
		all = append(all, content(m.JSON))
	}
	return all
}
