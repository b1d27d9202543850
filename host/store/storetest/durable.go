package storetest

import (
	"context"
	"testing"

	"github.com/parley-wasm/parley/host/store"
)

// OpenDurable opens an empty store for a test, and closes it when t ends. reopen closes
// the store and opens it again.
type OpenDurable func(t *testing.T) (s store.Durable, reopen func() store.Durable)

// ExerciseDurable runs the test suite for flows, runs and deliveries. Exercise tests the
// other operations of such a store.
func ExerciseDurable(t *testing.T, open OpenDurable) {
	for _, c := range []struct {
		name string
		test func(*testing.T, store.Durable)
	}{
		{"updates: all or nothing", testUpdateFails},
		{"updates: one of many fails", testUpdateAmongMany},
		{"updates: a panic reaches its caller", testUpdatePanics},
		{"updates: canceled contexts", testUpdateCanceled},
		{"updates: a transaction ends with its update", testTxEnds},
		{"updates: read their own writes", testTxReads},
		{"updates: many at the same time", testConcurrentUpdates},
		{"views do not change", testViewIsolation},
		{"rows are kept as they were put", testRows},
		{"rows are found by their calls", testCalls},
		{"runs are numbered", testRunNumbers},
		{"lists: filters", testWorkLists},
		{"transcripts", testTxTranscripts},
		{"sessions", testTxSessions},
		{"flows that wait for a run", testFlowsWaiting},
		{"deadlock check", testDeadlockCheck},
		{"active children", testActiveChildren},
		{"sessions are deleted", testDeleteSession},
		{"parents", testParents},
		{"modules and their activations", testModules},
		{"modules that wrote the states of flows", testStates},
		{"work: due", testDue},
		{"work: claims and fencing tokens", testClaims},
		{"work: leases", testLeases},
		{"work: late leases", testLateLease},
		{"work: takeover", testTakeOver},
		{"work: concurrent claims", testConcurrentClaims},
		{"subscribers are notified of commits", testSubscribe},
		{"subscribers do not block writers", testSubscriberBlocks},
		{"pruning", testPrune},
		{"pruning keeps rows in use", testPruneKeeps},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _ := open(t)
			c.test(t, s)
		})
	}
	t.Run("secrets", func(t *testing.T) { testSecret(t, open) })
	t.Run("reopened stores", func(t *testing.T) { testReopen(t, open) })
}

// update runs fn in one Update, which must succeed.
func update(t testing.TB, s store.Durable, fn func(store.Tx) error) {
	t.Helper()
	if err := s.Update(context.Background(), fn); err != nil {
		t.Fatalf("update: %v", err)
	}
}

// putWork puts flows, runs and deliveries, and schedules each store.Due.
func putWork(t testing.TB, s store.Durable, rows ...any) {
	t.Helper()
	update(t, s, func(tx store.Tx) error { return putAll(tx, rows...) })
}

func putAll(tx store.Tx, rows ...any) (err error) {
	for _, row := range rows {
		switch row := row.(type) {
		case *store.Flow:
			err = tx.PutFlow(row)
		case *store.Run:
			err = tx.PutRun(row)
		case *store.Delivery:
			err = tx.PutDelivery(row)
		case store.Due:
			err = tx.Schedule(row.Kind, row.ID, row.At)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// workView opens a view and closes it when the test ends.
func workView(t testing.TB, s store.Durable) store.View {
	t.Helper()
	v, err := s.View(context.Background())
	if err != nil {
		t.Fatalf("view: %v", err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Errorf("close the view: %v", err)
		}
	})
	return v
}

// inView runs a query in a new view.
func inView[T any](t testing.TB, s store.Durable, query func(context.Context, store.View) (T, error)) T {
	t.Helper()
	v, err := s.View(context.Background())
	if err != nil {
		t.Fatalf("view: %v", err)
	}
	defer v.Close()
	answer, err := query(context.Background(), v)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// inUpdate runs a query in a new update.
func inUpdate[T any](t testing.TB, s store.Durable, query func(store.Tx) (T, error)) (answer T) {
	t.Helper()
	update(t, s, func(tx store.Tx) (err error) {
		answer, err = query(tx)
		return err
	})
	return answer
}

func runIDs(runs []*store.Run) []string {
	all := []string{}
	for _, r := range runs {
		all = append(all, r.ID)
	}
	return all
}
