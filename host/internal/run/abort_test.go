package run_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/store"
)

// blocking returns a runner that sends its run's id and then waits for the end of its
// context.
func blocking(began chan<- string) runnerFunc {
	return func(ctx context.Context, t *runner.Turn) (*runner.Outcome, error) {
		began <- t.RunID
		<-ctx.Done()
		return nil, ctx.Err()
	}
}

func (r *fixture) abort(id, why, status, text string) *store.Run {
	r.t.Helper()
	row, err := r.Abort(context.Background(), id, why)
	if err != nil {
		r.t.Fatal(err)
	}
	if row.Status != status || row.Reply+row.Error != text || !row.Ended() {
		r.t.Errorf("Abort(%s) = %s %q, want %s %q", id, row.Status, row.Reply+row.Error, status, text)
	}
	return row
}

func TestAbort(t *testing.T) {
	began := make(chan string, 10)
	r := newFixture(t, blocking(began))
	r.config.Runs.MainSlots = 1
	r.start()
	r.session("a")
	r.session("b")
	r.queue("running", "a")
	<-began
	r.queue("in its lane", "a")
	r.queue("without slot", "b")
	r.queue("last", "b")

	r.abort("in its lane", "", abi.RunKilled, "aborted by the operator")
	r.abort("without slot", "no more", abi.RunKilled, "no more")
	if r.transcript("b") != "" || r.stored("b").Status != "" {
		t.Error("a run that never began changed its session")
	}
	row := r.abort("running", "enough", abi.RunKilled, "enough")
	if s := r.stored("a"); s.Status != abi.RunKilled || !*s.AbortedLastRun || s.UpdatedAt != row.EndedAt {
		t.Errorf("session: %+v", s)
	}
	if id := <-began; id != "last" {
		t.Errorf("%s began instead of the run behind the aborted ones", id)
	}
	_, err := r.Abort(t.Context(), "running", "other")
	if again := r.row("running"); !errors.Is(err, abi.Conflict) || err.Error() != "run running has ended already, as killed: enough" || again.Abort != "enough" || again.EndedAt != row.EndedAt {
		t.Errorf("second abort: %v; the run is %+v", err, again)
	}
	r.abort("last", "", abi.RunKilled, "aborted by the operator")
	if n := r.scheduled(store.KindRun); n != 0 {
		t.Errorf("%d runs are left", n)
	}
}

// The answer of a run is ignored if the run was aborted while the runner was active.
func TestAbortDuringRun(t *testing.T) {
	r := newFixture(t, nil)
	r.rn = runnerFunc(func(ctx context.Context, turn *runner.Turn) (*runner.Outcome, error) {
		r.update(func(tx store.Tx) error { // as another host does, before its hint arrives
			row, err := tx.Run(turn.RunID)
			if err != nil {
				return err
			}
			row.Abort = "stop"
			return tx.PutRun(row)
		})
		return &runner.Outcome{Text: "an answer"}, nil
	})
	r.session("a")
	r.queue("r1", "a", func(q *store.Run) { q.Deliver = true })
	r.start()
	r.ends("r1", abi.RunKilled, "stop")
	if r.scheduled(store.KindDelivery) != 0 {
		t.Error("the answer of an aborted run is delivered")
	}
}

// The hint of an abort that another host stored takes effect.
func TestAbortByHint(t *testing.T) {
	began := make(chan string, 1)
	r := newFixture(t, blocking(began)).start()
	r.session("a")
	r.queue("r1", "a")
	<-began
	r.update(func(tx store.Tx) error {
		row, err := tx.Run("r1")
		if err != nil {
			return err
		}
		row.Abort = "stop"
		if err := tx.PutRun(row); err != nil {
			return err
		}
		return tx.Schedule(store.KindRun, "r1", row.QueuedAt)
	})
	r.ends("r1", abi.RunKilled, "stop")
}

// An abort between the claim and the call of the runner takes effect.
func TestAbortBeforeRunnerCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t, nil)
		r.o.Runners = func(string) (runner.Runner, error) {
			go func() { _, _ = r.Abort(context.Background(), "r1", "stop") }()
			synctest.Wait()
			return blocking(make(chan string, 1)), nil
		}
		r.start()
		r.session("a")
		began := time.Now()
		r.queue("r1", "a")
		r.ends("r1", abi.RunKilled, "stop")
		if took := time.Since(began); took != 0 {
			t.Errorf("the runner was not cancelled for %s", took)
		}
	})
}

// An interrupted run that waits for a slot on the next host is aborted without a call
// of its runner.
func TestAbortInterrupted(t *testing.T) {
	began := make(chan string, 2)
	first := newFixture(t, blocking(began))
	first.makeFaulty()
	first.session("a")
	first.session("b")
	first.queue("r1", "a")
	first.queue("r2", "b")
	first.start()
	<-began
	<-began
	first.kill()
	first.config.Runs.MainSlots = 1
	r := first.next(blocking(began)).start()
	if id := <-began; id != "r1" {
		t.Fatalf("%s began", id)
	}
	r.abort("r2", "", abi.RunKilled, "aborted by the operator")
	r.abort("r1", "", abi.RunKilled, "aborted by the operator")
	if len(began) != 0 {
		t.Error("the runner was called for the aborted run")
	}
}
