package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/internal/run"
	"github.com/parley-wasm/parley/host/internal/work"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/store"
)

func number(n int64) *int64 { return &n }

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turn runner.Turn
		r := newFixture(t, runnerFunc(func(_ context.Context, got *runner.Turn) (*runner.Outcome, error) {
			turn = *got
			time.Sleep(1500 * time.Millisecond)
			return &runner.Outcome{Text: " an answer\n", Model: "large", Usage: &abi.Usage{Input: number(2_000_000), Output: number(500_000)}}, nil
		}))
		r.config.Models.Pricing = map[string]config.Price{"large": {InputPerMTok: 1, OutputPerMTok: 4}}
		r.start()
		r.session("a", func(s *abi.Session) { s.ModelOverride, s.Label, s.ThinkingLevel = "small", "kept", "high" })
		began := time.Now().UnixMilli()
		r.queue("r1", "a", func(q *store.Run) {
			q.Message, q.Context, q.Provenance = "hello \"you\"", "who sends", json.RawMessage(`{"kind":"inter_session","sourceTool":"sessions_send"}`)
		})
		row := r.ends("r1", abi.RunDone, "an answer")
		ended := began + 1500
		if row.Attempt != 1 || row.StartedAt != began || row.EndedAt != ended || row.UsedModel != "large" || row.Usage.Cost == nil || *row.Usage.Cost != 4 {
			t.Errorf("row: %+v", row)
		}
		want := fmt.Sprintf(`{"role":"user","content":[{"type":"text","text":"hello \"you\""}],"timestamp":%d,"provenance":{"kind":"inter_session","sourceTool":"sessions_send"}}
{"role":"assistant","content":[{"type":"text","text":"an answer"}],"timestamp":%d,"model":"large","usage":{"input":2000000,"output":500000,"totalTokens":2500000},"stopReason":"stop"}
`, began, ended)
		if got := r.transcript("a"); got != want {
			t.Errorf("transcript:\n%swant:\n%s", got, want)
		}
		s := r.stored("a")
		if s.Status != abi.RunDone || s.Model != "large" || s.ModelOverride != "small" || *s.TotalTokens != 2_500_000 || *s.ContextTokens != 2_000_000 ||
			*s.AbortedLastRun || s.UpdatedAt != ended || s.Label != "kept" || s.LastChannel != "" {
			t.Errorf("session: %+v", s)
		}
		if turn.RunID != "r1" || turn.Attempt != 1 || turn.SessionKey != key("a") || turn.SessionID != "id-a" || turn.AgentID != "main" || turn.Model != "small" ||
			turn.Thinking != "high" || turn.Message != "hello \"you\"" || turn.Context != "who sends" || turn.Tools != nil {
			t.Errorf("turn: %+v", turn)
		}
		if n := r.scheduled(store.KindRun) + r.scheduled(store.KindDelivery); n != 0 {
			t.Errorf("%d pieces of work are left", n)
		}
	})
}

func TestRunningSession(t *testing.T) {
	began, proceed := make(chan struct{}), make(chan struct{})
	r := newFixture(t, runnerFunc(func(context.Context, *runner.Turn) (*runner.Outcome, error) {
		close(began)
		<-proceed
		return &runner.Outcome{Text: "  \n"}, nil
	})).start()
	r.session("a")
	r.queue("r1", "a", func(q *store.Run) { q.Deliver = true })
	<-began
	if s := r.stored("a"); s.Status != abi.RunRunning || s.UpdatedAt == 1 {
		t.Errorf("session: %+v", s)
	}
	if row := r.row("r1"); row.Status != abi.RunRunning || row.Attempt != 1 {
		t.Errorf("row: %+v", row)
	}
	close(proceed)
	r.ends("r1", abi.RunDone, "")
	if n := strings.Count(r.transcript("a"), "\n"); n != 1 {
		t.Errorf("%d messages; an empty answer must not be stored", n)
	}
	if r.scheduled(store.KindDelivery) != 0 {
		t.Error("an empty answer is delivered")
	}
}

func TestFailures(t *testing.T) {
	r := newFixture(t, runnerFunc(func(_ context.Context, turn *runner.Turn) (*runner.Outcome, error) {
		switch turn.RunID {
		case "error":
			return nil, errors.New("the model said no")
		case "panic":
			panic("oh")
		case "nothing":
			return nil, nil
		}
		return &runner.Outcome{Text: "ok"}, nil
	}))
	r.o.Runners = func(id string) (runner.Runner, error) {
		if id != "main" {
			return nil, fmt.Errorf("agent %q has no runner", id)
		}
		return r.rn, nil
	}
	r.start()
	for id, want := range map[string]string{
		"error":   "the model said no",
		"panic":   "the runner panicked: oh",
		"nothing": "the runner returned no answer",
		"other":   `agent "other" has no runner`,
	} {
		r.session(id)
		r.queue(id, id, func(q *store.Run) {
			if id == "other" {
				q.AgentID = id
			}
		})
		r.ends(id, abi.RunFailed, want)
		if s := r.stored(id); s.Status != abi.RunFailed || *s.AbortedLastRun {
			t.Errorf("session of %s: %+v", id, s)
		}
		r.queue(id+" 2", id)
		r.ends(id+" 2", abi.RunDone, "ok")
	}
}

// A run that another host has ended does not block the runs behind it.
func TestRunEndedByAnotherHost(t *testing.T) {
	began := make(chan string, 3)
	proceed := make(chan struct{})
	r := newFixture(t, runnerFunc(func(_ context.Context, turn *runner.Turn) (*runner.Outcome, error) {
		began <- turn.RunID
		<-proceed
		return &runner.Outcome{}, nil
	})).start()
	r.session("a")
	for _, id := range []string{"first", "second", "third"} {
		r.queue(id, "a")
	}
	<-began
	r.update(func(tx store.Tx) error {
		row, err := tx.Run("second")
		if err != nil {
			return err
		}
		row.Status, row.EndedAt = abi.RunFailed, 7
		return errors.Join(tx.PutRun(row), tx.Unschedule(store.KindRun, "second"))
	})
	close(proceed)
	r.wait("third")
	if id := <-began; id != "third" {
		t.Errorf("%s began", id)
	}
}

func TestSessionArchivedOrDeleted(t *testing.T) {
	r := newFixture(t, runnerFunc(func(context.Context, *runner.Turn) (*runner.Outcome, error) {
		t.Error("the runner was called")
		return &runner.Outcome{}, nil
	}))
	r.session("archived", func(s *abi.Session) { s.ArchivedAt = 5 })
	r.queue("one", "archived")
	r.queue("two", "never")
	r.start()
	r.ends("one", abi.RunFailed, "session agent:main:archived was archived before its turn")
	r.ends("two", abi.RunFailed, "session agent:main:never was deleted before its turn")
	if s := r.stored("archived"); r.transcript("archived") != "" || s.Status != "" || s.UpdatedAt != 1 {
		t.Errorf("the archived session was changed: %+v", s)
	}
}

func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t, runnerFunc(func(ctx context.Context, _ *runner.Turn) (*runner.Outcome, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})).start()
		r.session("a")
		began := time.Now()
		r.queue("default", "a")
		r.queue("own", "a", func(q *store.Run) { q.TimeoutSeconds = 7 })
		row := r.ends("default", abi.RunTimeout, "the run took longer than its limit of 10m0s")
		if time.Since(began) != 600*time.Second || row.EndedAt != time.Now().UnixMilli() {
			t.Errorf("ended after %s", time.Since(began))
		}
		if s := r.stored("a"); !*s.AbortedLastRun {
			t.Errorf("session: %+v", s)
		}
		r.ends("own", abi.RunTimeout, "the run took longer than its limit of 7s")
		if time.Since(began) != 607*time.Second {
			t.Errorf("ended after %s", time.Since(began))
		}
	})
}

// The outcome does not wait for a runner that ignores its context, but the session's
// lane and Close do. The late answer changes nothing.
func TestRunnerIgnoresContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var second time.Duration
		r := newFixture(t, runnerFunc(func(ctx context.Context, turn *runner.Turn) (*runner.Outcome, error) {
			if turn.RunID == "second" {
				second = time.Since(began)
				return &runner.Outcome{Text: "on time"}, nil
			}
			time.Sleep(time.Hour)
			if err := turn.Transcript.Append(ctx, json.RawMessage(`{"role":"assistant"}`)); err == nil {
				t.Error("Append succeeded after the end of the run")
			}
			return &runner.Outcome{Text: "late"}, nil
		})).start()
		r.session("a")
		r.queue("first", "a")
		r.queue("second", "a")
		r.ends("first", abi.RunTimeout, "the run took longer than its limit of 10m0s")
		if time.Since(began) != 10*time.Minute {
			t.Errorf("the outcome came after %s", time.Since(began))
		}
		r.ends("second", abi.RunDone, "on time")
		if second != time.Hour {
			t.Errorf("the second run began after %s, while the first runner was active", second)
		}
		if strings.Contains(r.transcript("a"), "late") || r.row("first").Status != abi.RunTimeout {
			t.Error("the late answer changed something")
		}
	})
}

func TestDelivery(t *testing.T) {
	r := newFixture(t, replies("an answer")).start()
	r.session("a")
	r.queue("r1", "a", func(q *store.Run) { q.Deliver, q.FlowID = true, "f1" })
	row := r.wait("r1")
	list := view(r, func(v store.View) ([]*store.Delivery, error) {
		return v.Deliveries(context.Background(), &store.Filter{})
	})
	if len(list) != 1 || r.scheduled(store.KindDelivery) != 1 {
		t.Fatalf("%d deliveries", len(list))
	}
	d := list[0]
	if !strings.HasPrefix(d.ID, "d_") || d.ID != strings.ToLower(d.ID) || len(d.ID) != 28 {
		t.Errorf("id: %q", d.ID)
	}
	if d.SessionKey != key("a") || d.RunID != "r1" || d.FlowID != "f1" || d.Text != "an answer" || d.Status != store.DeliveryPending || d.CreatedAt != row.EndedAt || !d.Target.IsZero() {
		t.Errorf("delivery: %+v", d)
	}
}

func TestWaitingFlowsAreScheduled(t *testing.T) {
	r := newFixture(t, replies("an answer"))
	r.update(func(tx store.Tx) error {
		return tx.PutFlow(&store.Flow{ID: "f1", Call: store.CallKey{Scope: "operator", ID: "c"}, Status: store.FlowWaiting, WaitRun: "r1", AcceptedAt: 1, UpdatedAt: 1})
	})
	r.session("a")
	r.queue("r1", "a")
	r.start()
	row := r.wait("r1")
	due := view(r, func(v store.View) ([]store.Due, error) { return v.Due(context.Background(), store.KindFlow) })
	if len(due) != 1 || due[0].ID != "f1" || due[0].At != row.EndedAt {
		t.Errorf("due: %v", due)
	}
}

func TestWaitForUnknownRun(t *testing.T) {
	r := newFixture(t, replies("x")).start()
	if _, err := r.Wait(t.Context(), "none"); !errors.Is(err, abi.NotFound) {
		t.Errorf("Wait: %v", err)
	}
	if _, err := r.Abort(t.Context(), "none", ""); !errors.Is(err, abi.NotFound) {
		t.Errorf("Abort: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r.session("a", func(s *abi.Session) { s.ArchivedAt = 1 })
	if _, err := r.Wait(ctx, "none"); !errors.Is(err, context.Canceled) {
		t.Errorf("Wait: %v", err)
	}
}

func TestOptions(t *testing.T) {
	s := openStore(t)
	w, err := work.NewWorker(&work.WorkerOptions{Store: s})
	if err != nil {
		t.Fatal(err)
	}
	agents := func(string) (runner.Runner, error) { return replies(""), nil }
	settings := func() *config.Config { return config.Default() }
	tools := func(abi.Caller) []abi.Tool { return nil }
	for _, o := range []*run.Options{
		nil, {}, {Store: s}, {Store: s, Worker: w}, {Store: s, Worker: w, Runners: agents},
		{Store: s, Worker: w, Runners: agents, Config: settings, Tools: tools},
	} {
		if _, err := run.New(o); err == nil {
			t.Errorf("New(%+v) did not fail", o)
		}
	}
}
