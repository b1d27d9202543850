package flow_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/engine"
	"github.com/parley-wasm/parley/host/internal/work"
	"github.com/parley-wasm/parley/host/store"
)

func TestCallWaitsForItsRun(t *testing.T) {
	w := newFixture(t, sending(0))
	done := w.call(t.Context(), "1", `{"a":1}`)
	runs := w.allRuns()
	if len(runs) != 1 || runs[0].SessionKey != target || runs[0].Status != abi.RunQueued || runs[0].Hops != 1 || runs[0].Scope != "session:main:"+caller ||
		string(runs[0].Provenance) != `{"kind":"inter_session","sourceSessionKey":"agent:main:main","sourceChannel":"unknown","sourceTool":"sessions_send"}` {
		t.Fatalf("queued %+v", runs)
	}
	w.end(runs[0].ID, "hi")
	r := <-done
	if r.err != nil || gjson.GetBytes(r.answer.Result, "run.reply").Str != "hi" {
		t.Fatalf("answered %+v, %v", r.answer, r.err)
	}
	f := w.allFlows()[0]
	if f.ID != r.answer.FlowID || f.Status != store.FlowDone || f.Step != 2 || f.Note != "over" || !f.Answered() || !f.Ended() {
		t.Fatalf("the flow is %+v", f)
	}
}

// A call whose step has no effects is not stored.
func TestRefusedCallIsNotStored(t *testing.T) {
	w := newFixture(t, sending(0))
	w.receive = func(*abi.Session) error { return abi.NewError(abi.Forbidden, "send policy") }
	r := <-w.call(t.Context(), "1", `{}`)
	if r.err != nil || r.answer.Code != abi.Forbidden || r.answer.FlowID != "" {
		t.Fatalf("answered %+v, %v", r.answer, r.err)
	}
	if n := len(w.allFlows()) + len(w.allRuns()); n != 0 {
		t.Fatalf("%d rows were stored", n)
	}
	w.receive = nil // now the same id begins a flow
	done := w.call(t.Context(), "1", `{"other":true}`)
	w.end(w.allRuns()[0].ID, "")
	if r := <-done; r.err != nil || r.answer.FlowID == "" {
		t.Fatalf("answered %+v, %v", r.answer, r.err)
	}
}

func TestCallIDs(t *testing.T) {
	w := newFixture(t, sending(0))
	gone, leave := context.WithCancel(t.Context())
	first := w.call(gone, "1", `{"a":1,"b":[2.0],"c":[{"d":-0}]}`)
	leave()
	if r := <-first; !errors.Is(r.err, context.Canceled) {
		t.Fatalf("the cancelled caller got %+v, %v", r.answer, r.err)
	}
	second := w.call(t.Context(), "1", ` {"c":[{"d":0.0}],"b":[2e0],"a":1.0}`)
	if r := <-w.call(t.Context(), "1", `{"a":2}`); !errors.Is(r.err, abi.InvalidArgs) {
		t.Fatalf("other arguments got %+v, %v", r.answer, r.err)
	}
	if n := len(w.allRuns()); n != 1 {
		t.Fatalf("%d runs, want only the first call's", n)
	}
	w.end(w.allRuns()[0].ID, "hi")
	joined := <-second
	w.later(23 * time.Hour)
	again := <-w.call(t.Context(), "1", `{"a":1,"b":[2],"c":[{"d":0}]}`)
	if joined.err != nil || again.err != nil || string(joined.answer.Result) != string(again.answer.Result) || joined.answer.FlowID != again.answer.FlowID {
		t.Fatalf("answers %+v %v, %+v %v", joined.answer, joined.err, again.answer, again.err)
	}
	w.later(2 * time.Hour) // the answer has expired
	done := w.call(t.Context(), "1", `{"a":2}`)
	w.end(w.allRuns()[0].ID, "new")
	if r := <-done; r.err != nil || r.answer.FlowID == joined.answer.FlowID {
		t.Fatalf("answered %+v, %v", r.answer, r.err)
	}
}

// Of two concurrent calls with one id, one begins the flow and both get its answer.
func TestConcurrentCallsWithOneID(t *testing.T) {
	p, entered, both := sending(0), make(chan struct{}, 2), make(chan struct{})
	call := p.call
	p.call = func(ask func(string, string) gjson.Result, in gjson.Result) string {
		entered <- struct{}{}
		<-both
		return call(ask, in)
	}
	w := newFixture(t, p)
	results := make(chan reply, 2)
	for range 2 {
		go func() { results <- <-w.call(t.Context(), "1", `{}`) }()
	}
	<-entered
	<-entered
	close(both)
	for len(w.allRuns()) == 0 { // until the first has committed
	}
	w.end(w.allRuns()[0].ID, "hi")
	a, b := <-results, <-results
	if a.err != nil || b.err != nil || a.answer.FlowID != b.answer.FlowID || len(w.allRuns()) != 1 {
		t.Fatalf("%+v %v, %+v %v, %d runs", a.answer, a.err, b.answer, b.err, len(w.allRuns()))
	}
}

// Each effect checks its precondition again in the transaction. After a conflict the
// step runs again.
func TestStepIsRetriedAfterConflict(t *testing.T) {
	p := sending(0)
	var w *fixture
	var tries atomic.Int32
	call := p.call
	p.call = func(ask func(string, string) gjson.Result, in gjson.Result) string {
		out := call(ask, in)
		if tries.Add(1) == 1 {
			w.update(func(tx store.Tx) error {
				s, err := tx.Session(target)
				if err != nil {
					return err
				}
				s.ArchivedAt = 5
				return tx.PutSession(s)
			})
		}
		return out
	}
	w = newFixture(t, p)
	r := <-w.call(t.Context(), "1", `{}`)
	if r.err != nil || r.answer.Code != abi.NotFound || tries.Load() != 2 || len(w.allRuns()) != 0 {
		t.Fatalf("answered %+v, %v after %d tries, %d runs", r.answer, r.err, tries.Load(), len(w.allRuns()))
	}
}

func TestConflictRetryLimit(t *testing.T) {
	p := sending(0)
	var w *fixture
	archived := func(at int64) {
		w.update(func(tx store.Tx) error {
			return tx.PutSession(&abi.Session{Key: target, SessionID: target, UpdatedAt: 1, ArchivedAt: at})
		})
	}
	tries, call := 0, p.call
	p.call = func(ask func(string, string) gjson.Result, in gjson.Result) string {
		archived(0)
		defer archived(5)
		tries++
		return call(ask, in)
	}
	w = newFixture(t, p)
	if r := <-w.call(t.Context(), "1", `{}`); !errors.Is(r.err, abi.Conflict) || tries != 5 || len(w.allFlows()) != 0 {
		t.Fatalf("answered %+v, %v after %d tries; flows %+v", r.answer, r.err, tries, w.allFlows())
	}
}

func TestParkedFlow(t *testing.T) {
	t.Run("wrong output", func(t *testing.T) { testParked(t, `{"result":5}`) })
	// A conflict that the plugin itself reports counts as a failure.
	t.Run("conflict", func(t *testing.T) { testParked(t, `{"error":{"code":"conflict","message":"read after write"}}`) })
}

func testParked(t *testing.T, output string) {
	p := sending(0)
	good := p.resume
	p.resume = func(func(string, string) gjson.Result, gjson.Result) string { return output }
	w := newFixture(t, p)
	done := w.call(t.Context(), "1", `{}`)
	w.end(w.allRuns()[0].ID, "hi")
	r := <-done
	f := w.allFlows()[0]
	if r.err == nil || !strings.Contains(r.err.Error(), f.ID) || f.Status != store.FlowParked || f.Failures != 2 || f.Error == "" {
		t.Fatalf("answered %+v, %v; the flow is %+v", r.answer, r.err, f)
	}
	w.open(&plugin{resume: good})
	if err := w.flows.Retry(t.Context(), f.ID); err != nil {
		t.Fatal(err)
	}
	if r := <-w.call(t.Context(), "1", `{}`); r.err != nil || gjson.GetBytes(r.answer.Result, "run.reply").Str != "hi" {
		t.Fatalf("answered %+v, %v", r.answer, r.err)
	}
	if err := w.flows.Retry(t.Context(), f.ID); !errors.Is(err, abi.Conflict) {
		t.Fatalf("a second retry: %v", err)
	}
	if err := w.flows.Retry(t.Context(), "f_none"); !errors.Is(err, abi.NotFound) {
		t.Fatalf("retry of an unknown flow: %v", err)
	}
}

// A dropped flow gets one last step, which can answer its caller.
func TestDropFlow(t *testing.T) {
	for _, tt := range []struct {
		name   string
		output string // of the last step; empty: the output of sending
		steps  int
		note   string
		answer bool
	}{
		{"answers", "", 2, "over", true},
		{"returns a wait", `{"result":{"type":"cancel"},"note":"wait","wait":{"until":1,"state":{},"stateVersion":1}}`, 2, "wait", true},
		{"fails", `{"error":{"code":"internal","message":"no"}}`, 1, "dropped by the operator; its queued runs and deliveries continue", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := sending(0)
			if tt.output != "" {
				p.resume = func(func(string, string) gjson.Result, gjson.Result) string { return tt.output }
			}
			w := newFixture(t, p)
			done := w.call(t.Context(), "1", `{}`)
			id := w.allFlows()[0].ID
			if err := w.flows.Drop(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			switch r := <-done; {
			case tt.answer && (r.err != nil || gjson.GetBytes(r.answer.Result, "type").Str != abi.EventCancel),
				!tt.answer && !errors.Is(r.err, abi.Conflict):
				t.Fatalf("answered %+v, %v", r.answer, r.err)
			}
			w.end(w.allRuns()[0].ID, "too late")
			f, err := w.flows.Wait(t.Context(), id)
			if err != nil || f.Status != store.FlowDropped || f.Step != tt.steps || f.Note != tt.note || f.WaitRun != "" || f.WaitUntil != 0 || f.State != nil {
				t.Fatalf("the flow is %+v, %v", f, err)
			}
			if err := w.flows.Drop(t.Context(), id); !errors.Is(err, abi.Conflict) {
				t.Fatalf("a second drop: %v", err)
			}
		})
	}
}

// A flow resumes when its time is over. If its run has ended too, the event is the
// run.
func TestTimeAndRun(t *testing.T) {
	const until = 1_770_000_000_000 - 1 // in the past
	w := newFixture(t, sending(until))
	r := <-w.call(t.Context(), "1", `{}`)
	if e := gjson.ParseBytes(r.answer.Result); r.err != nil || e.Get("type").Str != "time" || e.Get("at").Int() != until {
		t.Fatalf("answered %+v, %v", r.answer, r.err)
	}
	p := sending(until)
	call := p.call
	w.open(&plugin{resume: p.resume, call: func(ask func(string, string) gjson.Result, in gjson.Result) string {
		// The flow waits for a run that has already ended.
		out := call(ask, in)
		return strings.Replace(out, gjson.Get(out, "wait.run").Str, w.allRuns()[0].ID, 1)
	}})
	w.end(w.allRuns()[0].ID, "ended")
	r = <-w.call(t.Context(), "2", `{}`)
	if e := gjson.ParseBytes(r.answer.Result); r.err != nil || e.Get("type").Str != "run" || e.Get("run.reply").Str != "ended" {
		t.Fatalf("answered %+v, %v", r.answer, r.err)
	}
}

func TestNextManagerResumes(t *testing.T) {
	w := newFixture(t, sending(0))
	done := w.call(t.Context(), "1", `{}`)
	if err := w.flows.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := <-done; !errors.Is(r.err, work.ErrClosing) {
		t.Fatalf("answered %+v, %v", r.answer, r.err)
	}
	w.end(w.allRuns()[0].ID, "hi") // while no manager is open
	w.open(sending(0))
	if r := <-w.call(t.Context(), "1", `{}`); r.err != nil || gjson.GetBytes(r.answer.Result, "run.reply").Str != "hi" {
		t.Fatalf("answered %+v, %v", r.answer, r.err)
	}
}

// A step has no effects if another process has committed that step first.
func TestStaleStep(t *testing.T) {
	p := sending(0)
	var w *fixture
	p.resume = func(ask func(string, string) gjson.Result, in gjson.Result) string {
		if in.Get("step").Int() != 2 {
			return `{"note":"the step after the other one"}`
		}
		r := ask("agent", runRequest)
		w.update(func(tx store.Tx) error {
			f, err := tx.Flow(in.Get("flowId").Str)
			if err != nil {
				return err
			}
			f.Step, f.Note = f.Step+1, "the other one was committed first"
			return tx.PutFlow(f)
		})
		return waitFor(r, 0)
	}
	w = newFixture(t, p)
	done := w.call(t.Context(), "1", `{}`)
	w.end(w.allRuns()[0].ID, "hi")
	f := w.allFlows()[0]
	for ; f.Step < 2; f = w.allFlows()[0] {
	}
	if err := w.flows.Drop(t.Context(), f.ID); err != nil && !errors.Is(err, abi.Conflict) {
		t.Fatal(err)
	}
	<-done
	if n := len(w.allRuns()); n != 1 {
		t.Fatalf("%d runs: the stale step had effects", n)
	}
}

func TestRefusedRequests(t *testing.T) {
	requests := map[string]struct {
		namespace, request string
		code               abi.Code
	}{
		"foreign source":    {"agent", strings.Replace(runRequest, `"group"`, `"source":"agent:main:other","group"`, 1), abi.Forbidden},
		"foreign delivery":  {"deliver", `{"op":"send","sessionKey":"agent:main:x","text":"hi"}`, abi.Forbidden},
		"blank message":     {"agent", strings.Replace(runRequest, "hello", " ", 1), abi.InvalidArgs},
		"no session":        {"agent", strings.Replace(runRequest, ":x", ":y", 1), abi.NotFound},
		"another group":     {"agent", strings.Replace(runRequest, "nested", "main", 1), abi.InvalidArgs},
		"no such write":     {"store", `{"op":"patch"}`, abi.Unsupported},
		"a child's group":   {"agent", strings.Replace(runRequest, "nested", "subagent", 1), abi.InvalidArgs},
		"not an agent id":   {"store", `{"op":"create","agentId":"No Agent"}`, abi.InvalidArgs},
		"not its child":     {"store", `{"op":"archive","sessionKey":"agent:main:x"}`, abi.Forbidden},
		"not a known child": {"store", `{"op":"delete","sessionKey":"agent:main:subagent:x"}`, abi.Forbidden},
		"no channel":        {"deliver", `{"op":"send","sessionKey":"agent:main:main","text":"hi","atCall":true}`, abi.InvalidArgs},
	}
	for name, tt := range requests {
		t.Run(name, func(t *testing.T) {
			var got abi.Code
			w := newFixture(t, &plugin{call: func(ask func(string, string) gjson.Result, _ gjson.Result) string {
				got = abi.Code(ask(tt.namespace, tt.request).Get("error.code").Str)
				return `{"result":{}}`
			}})
			if r := <-w.call(t.Context(), "1", `{}`); r.err != nil || got != tt.code {
				t.Fatalf("refused with %q, want %q (%v)", got, tt.code, r.err)
			}
		})
	}
}

// A step that queues too many runs fails, and none of them is queued.
func TestRunLimit(t *testing.T) {
	p := &plugin{call: func(ask func(string, string) gjson.Result, _ gjson.Result) string {
		for range 4 {
			ask("agent", runRequest)
		}
		return `{"result":{}}`
	}}
	w := newFixture(t, p)
	w.limits.Runs = 3
	w.open(p)
	if r := <-w.call(t.Context(), "1", `{}`); !errors.Is(r.err, engine.Runs) || !errors.Is(r.err, abi.Limit) || len(w.allRuns()) != 0 {
		t.Fatalf("%v, %d runs; want limit: runs and none", r.err, len(w.allRuns()))
	}
}

func TestEffectLimit(t *testing.T) {
	var last gjson.Result
	p := &plugin{call: func(ask func(string, string) gjson.Result, _ gjson.Result) string {
		for range abi.MaxEffects + 1 {
			last = ask("agent", runRequest)
		}
		return `{"result":{}}`
	}}
	w := newFixture(t, p)
	w.limits.Runs = abi.MaxEffects
	w.open(p)
	if r := <-w.call(t.Context(), "1", `{}`); r.err != nil || last.Get("error.code").Str != "limit" || len(w.allRuns()) != abi.MaxEffects {
		t.Fatalf("%v, the last effect got %s, %d runs", r.err, last.Raw, len(w.allRuns()))
	}
	ids := map[string]bool{}
	for _, r := range w.allRuns() {
		ids[r.ID] = true
	}
	if len(ids) != abi.MaxEffects {
		t.Fatalf("%d ids for %d runs", len(ids), abi.MaxEffects)
	}
}
