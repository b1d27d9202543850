package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

// listed contains the members by which a list filters and orders rows.
type listed struct {
	id, status, session, flow string
	at                        int64
}

// newestFirst returns the ids of the rows that match a filter, newest first. rows are in
// the order of insertion.
func newestFirst(rows []listed, f *store.Filter) []string {
	rows = slices.Clone(rows)
	slices.Reverse(rows)
	slices.SortStableFunc(rows, func(a, b listed) int { return int(b.at - a.at) })
	limit := f.Limit
	if limit == 0 {
		limit = 100
	}
	ids := []string{}
	for _, r := range rows {
		if len(ids) < limit && (len(f.Statuses) == 0 || slices.Contains(f.Statuses, r.status)) && (f.SessionKey == "" || f.SessionKey == r.session) &&
			(f.FlowID == "" || f.FlowID == r.flow) && r.at >= f.Since {
			ids = append(ids, r.id)
		}
	}
	return ids
}

func testWorkLists(t *testing.T, s store.Durable) {
	var rows, flows []listed
	const n = 150
	update(t, s, func(tx store.Tx) error {
		rows, flows = nil, nil
		for i := range n {
			r := listed{fmt.Sprint("r", i*37%n), []string{"a", "b", "c"}[i%3], fmt.Sprint("s", i/3%4), fmt.Sprint("f", i/7%5), int64(i / 4 * 13 % 29)}
			if i%5 == 0 {
				r.flow = ""
			}
			rows = append(rows, r)
			flow := r
			flow.flow = r.id // a flow is filtered by its own id
			flows = append(flows, flow)
			if err := putAll(tx, &store.Flow{ID: r.id, Status: r.status, Caller: abi.Caller{SessionKey: r.session}, AcceptedAt: r.at},
				&store.Run{ID: r.id, Status: r.status, SessionKey: r.session, FlowID: r.flow, QueuedAt: r.at},
				&store.Delivery{ID: r.id, Status: r.status, SessionKey: r.session, FlowID: r.flow, CreatedAt: r.at}); err != nil {
				return err
			}
		}
		return nil
	})
	v := workView(t, s)
	for _, statuses := range [][]string{nil, {"a"}, {"c", "a", "c"}, {"absent", "b"}, {"absent"}} {
		for _, session := range []string{"", "s1", "absent"} {
			for _, flow := range []string{"", "f2", "r5", "absent"} {
				for _, since := range []int64{0, 12, 100} {
					for _, limit := range []int{0, 1, 10, 1000} {
						compareLists(t, v, &store.Filter{Statuses: statuses, SessionKey: session, FlowID: flow, Since: since, Limit: limit}, rows, flows)
					}
				}
			}
		}
	}
	compareLists(t, v, nil, rows, flows)
	if _, err := v.Runs(context.Background(), &store.Filter{Limit: -1}); !errors.Is(err, abi.InvalidArgs) {
		t.Errorf("a limit of -1: %v; want invalid_args", err)
	}
}

func compareLists(t *testing.T, v store.View, f *store.Filter, rows, flows []listed) {
	t.Helper()
	ctx := context.Background()
	gotFlows, err := v.Flows(ctx, f)
	gotRuns, err2 := v.Runs(ctx, f)
	gotDeliveries, err3 := v.Deliveries(ctx, f)
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	if f == nil {
		f = &store.Filter{}
	}
	got := [3][]string{{}, runIDs(gotRuns), {}}
	for _, row := range gotFlows {
		got[0] = append(got[0], row.ID)
	}
	for _, row := range gotDeliveries {
		got[2] = append(got[2], row.ID)
	}
	want := [3][]string{newestFirst(flows, f), newestFirst(rows, f), newestFirst(rows, f)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%+v: flows, runs, deliveries (-want +got):\n%s", *f, diff)
	}
}
