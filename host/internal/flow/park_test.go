package flow_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/host/store"
)

// TestPark parks what waits, for its module's fault: nothing wakes it meanwhile, and
// nothing is lost. A flow whose time has come is tried again at once, and one whose
// time is to come waits for it.
func TestPark(t *testing.T) {
	const far = 9_000_000_000_000
	w := newWorld(t, sending(far))
	first, second := w.call(t.Context(), "1", `{}`), w.call(t.Context(), "2", `{}`)
	runs := w.allRuns() // newest first
	noted := false
	park := func(digest string) int {
		n, err := w.flows.Park(t.Context(), digest, "it trapped", func(store.Tx) error {
			noted = true
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := park("another"); n != 0 || !noted {
		t.Fatalf("%d flows of another module were parked; the rest done: %v", n, noted)
	}
	failed := errors.New("no")
	if _, err := w.flows.Park(t.Context(), "test", "", func(store.Tx) error { return failed }); !errors.Is(err, failed) {
		t.Fatalf("the rest failed, and parking with %v", err)
	}
	for _, f := range w.allFlows() {
		if f.Status != store.FlowWaiting {
			t.Fatalf("parked, though the rest failed: %+v", f)
		}
	}
	if n := park("test"); n != 2 {
		t.Fatalf("%d flows were parked", n)
	}
	for _, f := range w.allFlows() {
		if f.Status != store.FlowParked || f.Error != "it trapped" {
			t.Errorf("not parked: %+v", f)
		}
	}
	for _, done := range []<-chan reply{first, second} {
		if r := <-done; r.err == nil || !strings.Contains(r.err.Error(), "f_") {
			t.Errorf("a caller is told %+v, %v", r.answer, r.err)
		}
	}
	w.end(runs[1].ID, "while it was parked")
	if err := w.flows.RetryParked(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := <-w.call(t.Context(), "1", `{}`)
	if r.err != nil || gjson.GetBytes(r.answer.Result, "run.reply").Str != "while it was parked" {
		t.Fatalf("answered %+v, %v", r.answer, r.err)
	}
	again := w.call(t.Context(), "2", `{}`)
	due := view(w, func(v store.View) ([]store.Due, error) { return v.Due(t.Context(), store.KindFlow) })
	if len(due) != 1 || due[0].At != far {
		t.Errorf("due are %+v, want one at %d", due, int64(far))
	}
	w.end(runs[0].ID, "later")
	if r := <-again; r.err != nil || gjson.GetBytes(r.answer.Result, "run.reply").Str != "later" {
		t.Fatalf("answered %+v, %v", r.answer, r.err)
	}
}

// What a version writes that was rolled back meanwhile is parked in the commit.
func TestParkDistrusted(t *testing.T) {
	p := sending(0)
	p.distrusted = "it was rolled back"
	w := newWorld(t, p)
	if r := <-w.call(t.Context(), "1", `{}`); r.err == nil || !strings.Contains(r.err.Error(), p.distrusted) {
		t.Fatalf("answered %+v, %v", r.answer, r.err)
	}
	f := w.allFlows()[0]
	if f.Status != store.FlowParked || f.Error != p.distrusted || f.WaitRun == "" {
		t.Fatalf("the flow is %+v", f)
	}
}
