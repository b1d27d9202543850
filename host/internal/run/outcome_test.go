package run_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/store"
)

// once returns a runner that may be called only once. The call makes the store fail
// as given.
func once(t *testing.T, f *faultyStore, fails func(int64) bool) runnerFunc {
	called := false
	return func(context.Context, *runner.Turn) (*runner.Outcome, error) {
		if called {
			t.Error("the runner was called again")
		}
		called = true
		f.fail(fails)
		return &runner.Outcome{Text: "an answer"}, nil
	}
}

func (r *fixture) checkOneAnswer() {
	r.t.Helper()
	if text := r.transcript("a"); strings.Count(text, "an answer") != 1 || strings.Count(text, "\n") != 2 {
		r.t.Errorf("transcript:\n%s", text)
	}
	if n := r.scheduled(store.KindDelivery); n != 1 {
		r.t.Errorf("%d deliveries", n)
	}
}

func deliver(q *store.Run) { q.Deliver = true }

// If the store fails, the commit of an outcome is retried with Backoff.
func TestOutcomeRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t, nil)
		f := r.makeFaulty()
		r.rn = once(t, f, func(n int64) bool { return n <= 5 })
		r.start()
		r.session("a")
		r.queue("r1", "a", deliver)
		row := r.ends("r1", abi.RunDone, "an answer")
		if took := row.EndedAt - row.StartedAt; took != 50+100+200+400+800 {
			t.Errorf("the outcome was stored after %d ms", took)
		}
		r.checkOneAnswer()
	})
}

// An outcome is kept when the claim is lost, unless another attempt has been made.
func TestOutcomeKeptAfterLostClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t, nil)
		f := r.makeFaulty()
		r.rn = once(t, f, func(int64) bool { return true })
		r.start()
		r.session("a")
		r.queue("r1", "a", deliver)
		time.Sleep(time.Hour)
		if row := r.row("r1"); row.Status != abi.RunRunning {
			t.Errorf("row: %+v", row)
		}
		f.fail(nil)
		if row := r.ends("r1", abi.RunDone, "an answer"); row.Attempt != 1 {
			t.Errorf("attempt %d", row.Attempt)
		}
		r.checkOneAnswer()
	})
}

// If the store fails, a claim is retried.
func TestClaimRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t, replies("an answer"))
		f := r.makeFaulty()
		r.start()
		r.session("a")
		f.fail(func(int64) bool { return true })
		r.queue("r1", "a", deliver)
		time.Sleep(time.Hour)
		if row := r.row("r1"); row.Status != abi.RunQueued {
			t.Errorf("row: %+v", row)
		}
		f.fail(nil)
		if row := r.ends("r1", abi.RunDone, "an answer"); row.Attempt != 1 {
			t.Errorf("attempt %d", row.Attempt)
		}
		r.checkOneAnswer()
	})
}

// Close does not hang while the store refuses an outcome but accepts lease renewals.
// The next manager executes the run again.
func TestCloseWhileOutcomeIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := newFixture(t, nil)
		f := first.makeFaulty()
		first.rn = once(t, f, func(int64) bool { f.readOnlyRuns.Store(true); return false })
		first.session("a")
		first.queue("r1", "a", deliver)
		first.start()
		time.Sleep(time.Minute)
		if row := first.row("r1"); row.Status != abi.RunRunning {
			t.Errorf("row: %+v", row)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		first.close(ctx)
		r := first.next(replies("another")).start()
		if row := r.ends("r1", abi.RunDone, "another"); row.Attempt != 2 {
			t.Errorf("attempt %d", row.Attempt)
		}
	})
}

func TestInvalidText(t *testing.T) {
	r := newFixture(t, replies("a \xff b")).start()
	r.session("a")
	r.queue("r1", "a")
	r.ends("r1", abi.RunDone, "a \uFFFD b")
	if text := r.transcript("a"); !strings.Contains(text, `"a � b"`) {
		t.Errorf("transcript:\n%s", text)
	}
}

// An answer is stored in a session that was archived while the runner was executing.
func TestSessionArchivedDuringRun(t *testing.T) {
	r := newFixture(t, nil)
	r.rn = runnerFunc(func(context.Context, *runner.Turn) (*runner.Outcome, error) {
		r.update(func(tx store.Tx) error {
			s, err := tx.Session(key("a"))
			if err != nil {
				return err
			}
			s.ArchivedAt = 7
			return tx.PutSession(s)
		})
		return &runner.Outcome{Text: "an answer"}, nil
	})
	r.start()
	r.session("a")
	r.queue("r1", "a", deliver)
	r.ends("r1", abi.RunDone, "an answer")
	if s := r.stored("a"); s.ArchivedAt != 7 || s.Status != abi.RunDone {
		t.Errorf("session: %+v", s)
	}
	r.checkOneAnswer()
}
