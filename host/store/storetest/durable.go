package storetest

import (
	"context"
	"testing"

	"github.com/parley-wasm/parley/host/store"
)

// OpenDurable opens an empty store for a test, which is closed when t ends.
// reopen closes it and returns it as it is when it is opened again.
type OpenDurable func(t *testing.T) (s store.Durable, reopen func() store.Durable)

// ExerciseDurable runs the suite of stores that keep flows, runs and deliveries.
// Exercise is for the rest of what such a store does.
func ExerciseDurable(t *testing.T, open OpenDurable) {
	for _, c := range []struct {
		name string
		test func(*testing.T, store.Durable)
	}{
		{"updates: all or nothing", testUpdateFails},
		{"updates: one of many fails", testUpdateAmongMany},
		{"updates: a panic is its caller's own", testUpdatePanics},
		{"updates: canceled contexts", testUpdateCanceled},
		{"updates: a transaction ends with its update", testTxEnds},
		{"updates: read their own writes", testTxReads},
		{"updates: many at once", testUpdatesAtOnce},
		{"views do not change", testViewIsolation},
		{"rows are kept as they were put", testRows},
		{"rows are found by their calls", testCalls},
		{"runs are numbered", testRunNumbers},
		{"lists: filters", testWorkLists},
		{"transcripts", testTxTranscripts},
		{"sessions", testTxSessions},
		{"flows that wait for a run", testWaiting},
		{"waits: who waits for whom", testWaits},
		{"children at work", testActiveChildren},
		{"sessions are deleted", testDeleteSession},
		{"parents", testParents},
		{"modules and their activations", testModules},
		{"what wrote the states of flows", testStates},
		{"work: what is due", testDue},
		{"work: claims and fences", testClaims},
		{"work: leases", testLeases},
		{"work: late leases", testLateLease},
		{"work: taking over", testTakeOver},
		{"work: a claim by many at once", testClaimAtOnce},
		{"subscribers hear of what was committed", testSubscribe},
		{"subscribers may block no writer", testSubscriberBlocks},
		{"pruning", testPrune},
		{"pruning keeps what is wanted", testPruneKeeps},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _ := open(t)
			c.test(t, s)
		})
	}
	t.Run("secrets", func(t *testing.T) { testSecret(t, open) })
	t.Run("what is there when opened again", func(t *testing.T) { testReopen(t, open) })
}

// update runs fn in one Update, which must succeed.
func update(t testing.TB, s store.Durable, fn func(store.Tx) error) {
	t.Helper()
	if err := s.Update(context.Background(), fn); err != nil {
		t.Fatalf("update: %v", err)
	}
}

// putWork puts flows, runs and deliveries, and schedules what is a store.Due.
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

// workView opens a view that is closed with the test.
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

// ask asks a view of its own.
func ask[T any](t testing.TB, s store.Durable, question func(context.Context, store.View) (T, error)) T {
	t.Helper()
	v, err := s.View(context.Background())
	if err != nil {
		t.Fatalf("view: %v", err)
	}
	defer v.Close()
	answer, err := question(context.Background(), v)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// tell runs a question in an update of its own.
func tell[T any](t testing.TB, s store.Durable, question func(store.Tx) (T, error)) (answer T) {
	t.Helper()
	update(t, s, func(tx store.Tx) (err error) {
		answer, err = question(tx)
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
