package run_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/work"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/store"
)

// waitingFlow stores a flow that waits for a run.
func (r *fixture) waitingFlow(runID string) {
	r.t.Helper()
	r.update(func(tx store.Tx) error {
		return tx.PutFlow(&store.Flow{ID: "f_" + runID, Call: store.CallKey{ID: runID}, Status: store.FlowWaiting, WaitRun: runID})
	})
}

// checkKilled checks that a killed run left nothing of its answer, and that the flow
// that waits for it is due.
func (r *fixture) checkKilled(row *store.Run, session string) {
	r.t.Helper()
	if row.Status != abi.RunKilled || row.Reply != "" || row.UsedModel != "" || row.Usage != nil {
		r.t.Errorf("the run has ended as %+v", row)
	}
	if text := r.transcript(session); strings.Contains(text, `"assistant"`) {
		r.t.Errorf("the session has an answer: %s", text)
	}
	if s := r.stored(session); s.Status != abi.RunKilled || s.Model != "" || s.TotalTokens != nil {
		r.t.Errorf("the session is %+v", s)
	}
	if n := r.scheduled(store.KindDelivery); n != 0 {
		r.t.Errorf("%d deliveries", n)
	}
	if n := r.scheduled(store.KindFlow); n != 1 {
		r.t.Errorf("%d flows are due, want the waiting one", n)
	}
}

// An abort that is stored before the agent's answer is committed takes precedence.
func TestAbortBeforeCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t, nil)
		f := r.makeFaulty()
		tokens := int64(5)
		r.rn = runnerFunc(func(context.Context, *runner.Turn) (*runner.Outcome, error) {
			f.fail(func(n int64) bool { return n == 1 }) // the first commit of the outcome fails
			return &runner.Outcome{Text: "an answer", Model: "m", Usage: &abi.Usage{Total: &tokens}}, nil
		})
		r.start()
		r.session("a")
		r.waitingFlow("r1")
		r.queue("r1", "a", deliver)
		synctest.Wait()
		if row := r.row("r1"); row.Status != abi.RunRunning {
			t.Fatalf("the answer is committed: %s", row.Status)
		}
		r.checkKilled(r.abort("r1", "enough", abi.RunKilled, "enough"), "a")
	})
}

// An abort after the commit changes nothing and returns an error.
func TestAbortAfterCommit(t *testing.T) {
	r := newFixture(t, replies("an answer")).start()
	r.session("a")
	r.queue("r1", "a", deliver)
	was := r.ends("r1", abi.RunDone, "an answer")
	row, err := r.Abort(t.Context(), "r1", "enough")
	if row != nil || !errors.Is(err, abi.Conflict) || err.Error() != "run r1 has ended already, as done" {
		t.Errorf("%v, %v", row, err)
	}
	if now := r.row("r1"); now.Abort != "" || now.Status != was.Status || now.EndedAt != was.EndedAt {
		t.Errorf("the run is changed: %+v", now)
	}
	if _, err := r.Abort(t.Context(), "none", ""); !errors.Is(err, abi.NotFound) {
		t.Errorf("unknown run: %v", err)
	}
}

// If an answer and an abort are committed concurrently, only the first one has effects.
func TestAbortRacesAnswer(t *testing.T) {
	answer := make(chan struct{})
	r := newFixture(t, runnerFunc(func(ctx context.Context, _ *runner.Turn) (*runner.Outcome, error) {
		<-answer // ignores its context
		return &runner.Outcome{Text: "an answer"}, nil
	})).start()
	r.session("a")
	done := 0
	for i := range 40 {
		id := fmt.Sprint("r", i)
		r.queue(id, "a", deliver)
		var both sync.WaitGroup
		both.Go(func() { answer <- struct{}{} })
		both.Go(func() {
			row, err := r.Abort(context.Background(), id, "enough")
			switch {
			case err == nil && row.Status == abi.RunKilled && row.Reply == "":
			case errors.Is(err, abi.Conflict) && r.row(id).Status == abi.RunDone:
				done++
			default:
				t.Errorf("run %s: %+v, %v", id, row, err)
			}
		})
		if row := r.wait(id); row.Status == abi.RunKilled && row.StartedAt == 0 {
			<-answer // the run was aborted before it began
		}
		both.Wait()
	}
	if answers, posts := strings.Count(r.transcript("a"), `"an answer"`), r.scheduled(store.KindDelivery); answers != done || posts != done {
		t.Errorf("%d runs are done; %d answers are stored, %d are to be delivered", done, answers, posts)
	}
}

// A manager that has not been started aborts a run of a dead host, ends the run's
// processes, and executes no other run.
func TestAbortWithoutStart(t *testing.T) {
	for _, fails := range []int64{0, 2} { // number of failed updates
		synctest.Test(t, func(t *testing.T) {
			began := make(chan string, 1)
			first := newFixture(t, runnerFunc(func(ctx context.Context, turn *runner.Turn) (*runner.Outcome, error) {
				if err := turn.Leave(ctx, 42); err != nil {
					return nil, err
				}
				return blocking(began)(ctx, turn)
			}))
			first.makeFaulty()
			first.session("a")
			first.session("b")
			first.waitingFlow("r1")
			first.queue("r1", "a", deliver)
			first.start()
			<-began
			first.kill()
			first.queue("r2", "a")
			first.queue("r3", "b")

			var reaped []string
			r := first.next(&reaper{
				runnerFunc: func(_ context.Context, turn *runner.Turn) (*runner.Outcome, error) {
					return &runner.Outcome{Text: turn.RunID}, nil
				},
				reap: func(left string) error {
					reaped = append(reaped, left)
					return nil
				},
			})
			f := r.makeFaulty()
			r.takeOver()
			f.fail(func(n int64) bool { return n > 1 && n <= 1+fails }) // the first update stores the abort
			r.checkKilled(r.abort("r1", "enough", abi.RunKilled, "enough"), "a")
			if len(reaped) != 1 || reaped[0] != "42" {
				t.Errorf("reaped %q", reaped)
			}
			r.abort("r2", "", abi.RunKilled, "aborted by the operator")
			if row := r.row("r3"); row.Status != abi.RunQueued {
				t.Errorf("another run is %s", row.Status)
			}
			if err := r.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			r.ends("r3", abi.RunDone, "r3")
			r.update(func(tx store.Tx) error { return work.QueueRun(tx, newRun("r4", "a")) })
			r.ends("r4", abi.RunDone, "r4")
			r.close(context.Background())
		})
	}
}
