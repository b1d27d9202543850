package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

func testFlowsWaiting(t *testing.T, s store.Durable) {
	flow := func(id, status, run string) *store.Flow {
		return &store.Flow{ID: id, Status: status, WaitRun: run}
	}
	putWork(t, s, flow("c", store.FlowWaiting, "r"), flow("a", store.FlowWaiting, "r"), flow("b", store.FlowWaiting, "q"), flow("d", store.FlowWaiting, ""),
		flow("e", store.FlowParked, "r"), flow("f", store.FlowDone, "r"), flow("g", store.FlowDropped, "r"))
	check := func(run, want string) {
		t.Helper()
		got := inUpdate(t, s, func(tx store.Tx) ([]string, error) { return tx.WaitingFlows(run) })
		if slices.Sort(got); strings.Join(got, " ") != want {
			t.Errorf("the flows %q wait for %s; want %q", got, run, want)
		}
	}
	check("r", "a c")
	check("q", "b")
	check("", "")
	check("absent", "")
	putWork(t, s, flow("c", store.FlowWaiting, "q"), flow("a", store.FlowDone, "r"), flow("e", store.FlowWaiting, "r"))
	check("r", "e")
	check("q", "b c")
}

// testDeadlockCheck tests the deadlock check on graphs. A graph is a list of edges:
// "run A1 A" is a run of session A, and "ended A1 A" a run that has ended. "call A1 B1"
// is a call of run A1 that waits for run B1. "answered", "parked", "done" and
// "elsewhere" (a call that no run made) are calls that do not block a run.
func testDeadlockCheck(t *testing.T, s store.Durable) {
	for i, c := range []struct {
		name, graph string
		want        string // pairs session>run: a new run of the session waits for the run
		not         string // pairs for which it does not
	}{
		{"itself", "run A1 A", "A>A1", "B>A1 A>B1"},
		{"behind another run", "run A1 A, run A2 A", "A>A1 A>A2", ""},
		{"no runs", "", "", "A>A1"},
		{"A to B to A", "run A1 A, run B1 B, call A1 B1", "B>B1 A>B1 A>A1", "B>A1"},
		{"both ways", "run A1 A, run B1 B, call A1 B1, call B1 A1", "A>A1 A>B1 B>A1 B>B1", ""},
		{"a chain of three", "run A1 A, run B1 B, run C1 C, call A1 B1, call B1 C1", "A>C1 B>C1 A>B1 A>A1", "C>A1 C>B1 B>A1"},
		{"a long chain", "run A1 A, run B1 B, run C1 C, run D1 D, run E1 E, call D1 E1, call C1 D1, call B1 C1, call A1 B1", "A>E1 B>E1 C>E1", "E>A1 E>D1 D>A1"},
		{"queued behind one that waits", "run X1 X, run B1 B, run B2 B, call B1 X1, run A1 A, call A1 B2", "A>X1 B>X1 A>B1", "X>A1 X>B1 B>A1"},
		{"a run that waits is queued behind it", "run B1 B, run B2 B, run X1 X, call B2 X1, run A1 A, call A1 B1", "B>X1 A>B1", "A>X1 A>B2"},
		{"a later run of the session waits", "run A1 A, run A2 A, run B1 B, call A2 B1", "A>B1", "B>A2 B>A1"},
		{"answered", "run A1 A, run B1 B, answered A1 B1", "A>A1", "A>B1"},
		{"parked", "run A1 A, run B1 B, parked A1 B1", "A>A1", "A>B1"},
		{"done", "run A1 A, run B1 B, done A1 B1", "A>A1", "A>B1"},
		{"a call that no run made", "run A1 A, run B1 B, elsewhere A1 B1", "A>A1", "A>B1"},
		{"a run that has ended waits for no run", "ended A1 A, run B1 B, call A1 B1", "B>B1", "A>A1 A>B1"},
		{"no run waits for a run that has ended", "run A1 A, run C1 B, ended B1 B, call A1 B1", "A>A1 B>C1", "A>B1 A>C1"},
		{"two calls at once", "run A1 A, run B1 B, run C1 C, call A1 B1, call A1 C1", "A>B1 A>C1", "B>C1 C>B1"},
		{"a diamond", "run A1 A, run B1 B, run C1 C, run D1 D, call A1 B1, call A1 C1, call B1 D1, call C1 D1", "A>D1 B>D1 C>D1", "D>A1 B>C1"},
		{"a run that is not stored", "run A1 A, call A1 B1", "A>A1", "A>B1"},
	} {
		prefix := fmt.Sprint(i, ".")
		update(t, s, func(tx store.Tx) error { return putGraph(tx, prefix, c.graph) })
		for pairs, want := range map[string]bool{c.want: true, c.not: false} {
			for _, pair := range strings.Fields(pairs) {
				session, run, _ := strings.Cut(pair, ">")
				got := inView(t, s, func(ctx context.Context, v store.View) (bool, error) {
					return v.WouldBlock(ctx, prefix+session, prefix+run)
				})
				if got != want {
					t.Errorf("%s (%s): %s is %v", c.name, c.graph, pair, got)
				}
				if got := inUpdate(t, s, func(tx store.Tx) (bool, error) { return tx.WouldBlock(prefix+session, prefix+run) }); got != want {
					t.Errorf("%s (%s): %s is %v in a transaction", c.name, c.graph, pair, got)
				}
			}
		}
	}
}

func putGraph(tx store.Tx, prefix, graph string) error {
	for i, line := range strings.Split(graph, ",") {
		words := strings.Fields(line)
		if len(words) != 3 {
			continue
		}
		from, to := prefix+words[1], prefix+words[2]
		run := &store.Run{ID: from, SessionKey: to, Status: abi.RunQueued}
		flow := &store.Flow{ID: fmt.Sprint(prefix, i), Status: store.FlowWaiting, Caller: abi.Caller{RunID: from}, WaitRun: to}
		var row any = flow
		switch words[0] {
		case "ended":
			run.Status, run.EndedAt = abi.RunDone, 1
			row = run
		case "run":
			row = run
		case "answered":
			flow.AnsweredAt = 1
		case "parked":
			flow.Status = store.FlowParked
		case "done":
			flow.Status, flow.EndedAt = store.FlowDone, 1
		case "elsewhere":
			flow.Caller.RunID = ""
		}
		if err := putAll(tx, row); err != nil {
			return err
		}
	}
	return nil
}
