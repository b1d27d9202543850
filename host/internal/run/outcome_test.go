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

// once is an agent that may be called but once.
func once(t *testing.T, f *faulty, fails func(int64) bool) agentFunc {
	called := false
	return func(context.Context, *runner.Turn) (*runner.Outcome, error) {
		if called {
			t.Error("the agent was called again")
		}
		called = true
		f.fail(fails)
		return &runner.Outcome{Text: "an answer"}, nil
	}
}

func (r *rig) oneAnswer() {
	r.t.Helper()
	if text := r.transcript("a"); strings.Count(text, "an answer") != 1 || strings.Count(text, "\n") != 2 {
		r.t.Errorf("transcript:\n%s", text)
	}
	if n := r.scheduled(store.KindDelivery); n != 1 {
		r.t.Errorf("%d deliveries", n)
	}
}

func deliver(q *store.Run) { q.Deliver = true }

// An outcome that the store refuses is stored as soon as it can be.
func TestOutcomeIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		f := r.breakable()
		r.agent = once(t, f, func(n int64) bool { return n <= 5 })
		r.start()
		r.session("a")
		r.queue("r1", "a", deliver)
		row := r.ends("r1", abi.RunDone, "an answer")
		if took := row.EndedAt - row.StartedAt; took != 50+100+200+400+800 {
			t.Errorf("the outcome was stored after %d ms", took)
		}
		r.oneAnswer()
	})
}

// It is kept even if the claim is lost over that, unless somebody else has made
// another attempt.
func TestOutcomeOutlivesItsClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		f := r.breakable()
		r.agent = once(t, f, func(int64) bool { return true })
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
		r.oneAnswer()
	})
}

// A claim that the store refuses is made when it can be.
func TestClaimIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, says("an answer"))
		f := r.breakable()
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
		r.oneAnswer()
	})
}

// A manager that is closed while an outcome is refused, though the lease can be
// renewed, does not hang; the run is executed again by the next one.
func TestCloseWhileOutcomeIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := newRig(t, nil)
		f := first.breakable()
		first.agent = once(t, f, func(int64) bool { f.fixed.Store(true); return false })
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
		r := first.next(says("another")).start()
		if row := r.ends("r1", abi.RunDone, "another"); row.Attempt != 2 {
			t.Errorf("attempt %d", row.Attempt)
		}
	})
}

func TestInvalidText(t *testing.T) {
	r := newRig(t, says("a \xff b")).start()
	r.session("a")
	r.queue("r1", "a")
	r.ends("r1", abi.RunDone, "a \uFFFD b")
	if text := r.transcript("a"); !strings.Contains(text, `"a � b"`) {
		t.Errorf("transcript:\n%s", text)
	}
}

// The session was deleted or archived while the agent was at work.
func TestSessionArchivedMeanwhile(t *testing.T) {
	r := newRig(t, nil)
	r.agent = agentFunc(func(context.Context, *runner.Turn) (*runner.Outcome, error) {
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
	r.oneAnswer()
}
