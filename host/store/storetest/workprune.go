package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

// rowIDs returns the ids of all rows of each kind.
func rowIDs(t *testing.T, s store.Durable) (all [3][]string) {
	t.Helper()
	v := workView(t, s)
	ctx, f := context.Background(), &store.Filter{Limit: 1000}
	flows, err := v.Flows(ctx, f)
	runs, err2 := v.Runs(ctx, f)
	deliveries, err3 := v.Deliveries(ctx, f)
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	for _, x := range flows {
		all[0] = append(all[0], x.ID)
	}
	for _, x := range runs {
		all[1] = append(all[1], x.ID)
	}
	for _, x := range deliveries {
		all[2] = append(all[2], x.ID)
	}
	for i := range all {
		slices.Sort(all[i])
	}
	return all
}

func testPrune(t *testing.T, s store.Durable) {
	key := "agent:main:x"
	update(t, s, func(tx store.Tx) error {
		err := errors.Join(tx.PutSession(&abi.Session{Key: key}), tx.Append(key, &store.Message{Role: "user", RunID: "1", JSON: []byte(`{"content":"kept"}`)}))
		for i := 5; i >= 0; i-- {
			id, at := fmt.Sprint(i), int64(i*10) // 0 has not ended
			_, err2 := tx.Lease("w"+id, at)
			err = errors.Join(err, err2, putAll(tx, &store.Flow{ID: id, Status: store.FlowDone, EndedAt: at}, &store.Run{ID: id, EndedAt: at}, &store.Delivery{ID: id, EndedAt: at}))
		}
		return errors.Join(err, tx.TakeOver("w0"))
	})
	prune := func(before int64, limit int, wantMore bool, want ...string) {
		t.Helper()
		more := inUpdate(t, s, func(tx store.Tx) (bool, error) { return tx.Prune(before, limit) })
		got := rowIDs(t, s)
		for _, kind := range got {
			if !slices.Equal(kind, want) || more != wantMore {
				t.Errorf("pruned before %d, at most %d: %v remain, more %v; want %v of each, %v", before, limit, got, more, want, wantMore)
				return
			}
		}
	}
	prune(10, 100, false, "0", "1", "2", "3", "4", "5")
	prune(45, 2, true, "0", "3", "4", "5")
	prune(45, 2, false, "0", "5")
	prune(45, 2, false, "0", "5")
	prune(1000, 100, false, "0")
	for _, rows := range [][]any{
		{&store.Flow{ID: "x", Status: store.FlowDone, EndedAt: 1}, &store.Flow{ID: "y", Status: store.FlowDone, EndedAt: 1}},
		{&store.Run{ID: "x", EndedAt: 1}, &store.Run{ID: "y", EndedAt: 1}, &store.Run{ID: "newest"}},
		{&store.Delivery{ID: "x", EndedAt: 1}, &store.Delivery{ID: "y", EndedAt: 1}},
	} {
		putWork(t, s, rows...)
		more := inUpdate(t, s, func(tx store.Tx) (bool, error) { return tx.Prune(1000, 1) })
		still := inUpdate(t, s, func(tx store.Tx) (bool, error) { return tx.Prune(1000, 1) })
		if !more || still {
			t.Errorf("after pruning one of two %T, more is %v, after the second %v", rows[0], more, still)
		}
	}
	if got := inView(t, s, func(ctx context.Context, v store.View) ([][]byte, error) { return v.RunMessages(ctx, "1") }); len(got) != 1 {
		t.Errorf("the messages of a pruned run: %q", got)
	}
	w := workers{t, s}
	w.lease("w1", 3000, true) // the worker was pruned
}

func testPruneKeeps(t *testing.T, s store.Durable) {
	putWork(t, s, &store.Flow{ID: "parked", Status: store.FlowParked}, &store.Run{ID: "its", FlowID: "parked", EndedAt: 1}, &store.Delivery{ID: "its", FlowID: "parked", EndedAt: 1},
		&store.Flow{ID: "done", Status: store.FlowDone, EndedAt: 1000}, &store.Run{ID: "other", FlowID: "done", EndedAt: 1}, &store.Delivery{ID: "other", FlowID: "gone", EndedAt: 1},
		&store.Run{ID: "newest", EndedAt: 1})
	newest := seqOf(t, s, "newest")
	w := workers{t, s}
	w.lease("owner", 10, true)
	w.schedule(0)
	w.claim("owner", 0, true)
	update(t, s, func(tx store.Tx) error { return tx.TakeOver("new") })
	if more := inUpdate(t, s, func(tx store.Tx) (bool, error) { return tx.Prune(100, 100) }); more {
		t.Error("more is true for rows that are kept")
	}
	if got, want := fmt.Sprint(rowIDs(t, s)), "[[done parked] [its newest] [its]]"; got != want {
		t.Errorf("%s remain; want %s", got, want)
	}
	putWork(t, s, &store.Run{ID: "next"})
	if next := seqOf(t, s, "next"); next <= newest {
		t.Errorf("the next run has the number %d, the previous one %d", next, newest)
	}
	w.lease("owner", 100, false) // the ended worker still holds a claim
	update(t, s, func(tx store.Tx) error { return tx.Unschedule(store.KindRun, "x") })
	w.lease("old", 10, true)
	update(t, s, func(tx store.Tx) error { return tx.TakeOver("new") })
	if more := inUpdate(t, s, func(tx store.Tx) (bool, error) { return tx.Prune(5, 100) }); more {
		t.Error("more is true")
	}
	w.lease("old", 100, false) // an ended worker is kept until its lease would have expired
}
