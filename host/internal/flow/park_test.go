package flow_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/host/store"
)

// Park parks the waiting flows of a faulty module. A parked flow does not resume, and
// no event is lost. After RetryParked, the flow whose run has ended resumes at once,
// and the other flow waits.
func TestPark(t *testing.T) {
	const far = 9_000_000_000_000
	w := newFixture(t, sending(far))
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
		t.Fatalf("%d flows of another module were parked; fn was called: %v", n, noted)
	}
	failed := errors.New("no")
	if _, err := w.flows.Park(t.Context(), "test", "", func(store.Tx) error { return failed }); !errors.Is(err, failed) {
		t.Fatalf("fn failed, and Park returned %v", err)
	}
	for _, f := range w.allFlows() {
		if f.Status != store.FlowWaiting {
			t.Fatalf("parked although fn failed: %+v", f)
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
			t.Errorf("a caller got %+v, %v", r.answer, r.err)
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

// If the version is rolled back during its step, the step is committed and the flow is
// parked.
func TestDistrustedVersionIsParked(t *testing.T) {
	p := sending(0)
	p.distrusted = "it was rolled back"
	w := newFixture(t, p)
	if r := <-w.call(t.Context(), "1", `{}`); r.err == nil || !strings.Contains(r.err.Error(), p.distrusted) {
		t.Fatalf("answered %+v, %v", r.answer, r.err)
	}
	f := w.allFlows()[0]
	if f.Status != store.FlowParked || f.Error != p.distrusted || f.WaitRun == "" {
		t.Fatalf("the flow is %+v", f)
	}
}
