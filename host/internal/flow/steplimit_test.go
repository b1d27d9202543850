package flow_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

const pastWait = `{"wait":{"until":1,"state":{},"stateVersion":1}}`

// A flow is parked after 100 steps. Retry allows another 100 steps, and keeps a wait
// for a run.
func TestStepLimit(t *testing.T) {
	w := newFixture(t, &plugin{
		call: func(func(string, string) gjson.Result, gjson.Result) string { return pastWait },
		resume: func(ask func(string, string) gjson.Result, in gjson.Result) string {
			switch in.Get("step").Int() {
			case 200:
				return waitFor(ask("agent", runRequest), 0)
			case 201:
				return `{"result":` + in.Get("event").Raw + `}`
			}
			return pastWait
		},
	})
	parked := func(r reply, steps int, why string) *store.Flow {
		t.Helper()
		f := w.allFlows()[0]
		if !errors.Is(r.err, abi.Limit) || !strings.Contains(r.err.Error(), why) || f.Status != store.FlowParked || f.Step != steps || !strings.Contains(f.Error, why) {
			t.Fatalf("answered %+v, %v; the flow is %+v", r.answer, r.err, f)
		}
		return f
	}
	f := parked(<-w.call(t.Context(), "1", `{}`), 100, "it has taken 100 steps")
	retry := func() {
		t.Helper()
		if err := w.flows.Retry(t.Context(), f.ID); err != nil {
			t.Fatal(err)
		}
	}
	retry()
	parked(<-w.call(t.Context(), "1", `{}`), 200, "it has taken 200 steps")
	retry()
	done := w.call(t.Context(), "1", `{}`)
	if due := view(w, func(v store.View) ([]store.Due, error) { return v.Due(context.Background(), store.KindFlow) }); len(due) != 0 {
		t.Errorf("due is %v, but its run has not ended", due)
	}
	w.end(w.allRuns()[0].ID, "hi")
	if r := <-done; r.err != nil || gjson.GetBytes(r.answer.Result, "run.reply").Str != "hi" {
		t.Fatalf("answered %+v, %v", r.answer, r.err)
	}
}

// A first step must return a result or a wait.
func TestFirstStepWithoutResult(t *testing.T) {
	w := newFixture(t, &plugin{call: func(func(string, string) gjson.Result, gjson.Result) string { return `{"note":"well"}` }})
	if r := <-w.call(t.Context(), "1", `{}`); !errors.Is(r.err, abi.Internal) || len(w.allFlows()) != 0 {
		t.Errorf("answered %+v, %v", r.answer, r.err)
	}
}
