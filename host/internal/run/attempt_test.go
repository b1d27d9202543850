package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/work"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/store"
)

// The next host retries a run whose host died. The user message is stored once.
func TestNextAttempt(t *testing.T) {
	began := make(chan string, 1)
	first := newFixture(t, blocking(began))
	first.makeFaulty()
	first.session("a")
	first.queue("r1", "a")
	first.queue("r2", "a")
	first.start()
	<-began
	first.kill()
	if row := first.row("r1"); row.Status != abi.RunRunning || row.Attempt != 1 {
		t.Fatalf("row: %+v", row)
	}
	var attempts []int
	var order []string
	r := first.next(runnerFunc(func(_ context.Context, turn *runner.Turn) (*runner.Outcome, error) {
		attempts, order = append(attempts, turn.Attempt), append(order, turn.RunID)
		return &runner.Outcome{Text: "an answer"}, nil
	})).start()
	started := r.row("r1").StartedAt
	row := r.ends("r1", abi.RunDone, "an answer")
	r.wait("r2")
	if !slices.Equal(attempts, []int{2, 1}) || !slices.Equal(order, []string{"r1", "r2"}) || row.StartedAt != started || row.Attempt != 2 {
		t.Errorf("attempts %v of %v; row %+v", attempts, order, row)
	}
	if n := strings.Count(r.transcript("a"), "message of r1"); n != 1 {
		t.Errorf("%d user messages, want 1", n)
	}
}

func TestMaxAttempts(t *testing.T) {
	began := make(chan string, 1)
	r := newFixture(t, blocking(began))
	r.session("a")
	r.queue("r1", "a")
	for range 2 {
		r = r.next(blocking(began))
		r.makeFaulty()
		r.start()
		<-began
		r.kill()
	}
	r = r.next(blocking(began)).start()
	row := r.ends("r1", abi.RunFailed, "interrupted: the host ended during attempt 2 of at most 2")
	if row.Attempt != 2 || len(began) != 0 {
		t.Errorf("attempt %d; the runner was called %d more times", row.Attempt, len(began))
	}
	if s := r.stored("a"); s.Status != abi.RunFailed || *s.AbortedLastRun {
		t.Errorf("session: %+v", s)
	}
}

// The deadline counts from the start of the first attempt.
func TestDeadlineOverAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := make(chan string, 2)
		first := newFixture(t, blocking(began))
		first.makeFaulty()
		first.session("a")
		first.session("b")
		first.queue("long", "a", func(q *store.Run) { q.TimeoutSeconds = 100 })
		first.queue("short", "b", func(q *store.Run) { q.TimeoutSeconds = 50 })
		first.start()
		start := time.Now()
		<-began
		<-began
		first.kill()
		time.Sleep(60 * time.Second)
		r := first.next(blocking(began)).start()
		r.ends("short", abi.RunTimeout, "the run took longer than its limit of 50s")
		if len(began) > 1 {
			t.Error("the runner was called after the deadline")
		}
		r.ends("long", abi.RunTimeout, "the run took longer than its limit of 1m40s")
		if got := time.Since(start); got != 100*time.Second {
			t.Errorf("ended after %s", got)
		}
	})
}

// Close waits for the active runs and interrupts them when its context ends. The next
// owner continues them at once.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := newFixture(t, runnerFunc(func(ctx context.Context, turn *runner.Turn) (*runner.Outcome, error) {
			d := time.Second
			if turn.RunID == "slow" {
				d = time.Hour
			}
			select {
			case <-time.After(d):
				return &runner.Outcome{Text: "done"}, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		})).start()
		for _, id := range []string{"slow", "quick"} {
			first.session(id)
			first.queue(id, id)
			first.queue(id+" next", id)
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		if err := first.Close(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Minute {
			t.Errorf("Close: %v after %s", err, time.Since(began))
		}
		if row := first.row("quick"); row.Status != abi.RunDone {
			t.Errorf("quick: %+v", row)
		}
		if row := first.row("quick next"); row.Status != abi.RunQueued {
			t.Errorf("a run began while the manager was closing: %+v", row)
		}
		if row := first.row("slow"); row.Status != abi.RunRunning {
			t.Errorf("slow: %+v", row)
		}
		other, err := work.NewWorker(&work.WorkerOptions{Store: first.store})
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close(context.Background())
		if c, err := other.Claim(t.Context(), store.KindRun, "slow", nil); c == nil || err != nil {
			t.Errorf("the interrupted run was not given back: %v", err)
		}
		r := first.next(replies("again")).start()
		if row := r.ends("slow", abi.RunDone, "again"); row.Attempt != 2 {
			t.Errorf("attempt %d", row.Attempt)
		}
		r.wait("slow next")
		r.wait("quick next")
	})
}

// A worker whose claim was taken over writes nothing, whatever its runner does.
func TestStaleAttempt(t *testing.T) {
	began, proceed := make(chan struct{}), make(chan struct{})
	var appended, left error
	var identified bool
	var old *fixture
	old = newFixture(t, runnerFunc(func(ctx context.Context, turn *runner.Turn) (*runner.Outcome, error) {
		_, token := turn.Tools.Access()
		close(began)
		<-proceed // ignores its context
		appended = turn.Transcript.Append(ctx, json.RawMessage(`{"role":"assistant","content":"stale"}`))
		left = turn.Leave(context.Background(), 42)
		_, identified = old.Identify(token)
		return &runner.Outcome{Text: "stale"}, nil
	}))
	old.o.Tools = func(abi.Caller) []abi.Tool { return []abi.Tool{{Name: abi.ToolList}} }
	old.o.Call = func(context.Context, abi.Caller, string, []byte) (*runner.Answer, error) {
		return nil, errors.ErrUnsupported
	}
	old.o.URL = func() string { return "http://127.0.0.1:1" }
	old.session("a")
	old.queue("r1", "a", func(q *store.Run) { q.Deliver = true })
	old.start()
	<-began
	r := old.next(replies("fresh")).start()
	r.ends("r1", abi.RunDone, "fresh")
	before := r.transcript("a")
	close(proceed)
	old.close(context.Background())
	if appended == nil || !errors.Is(left, work.ErrLost) || identified {
		t.Errorf("stale attempt: append %v, leave %v, its token identified %t", appended, left, identified)
	}
	row := r.row("r1")
	if row.Reply != "fresh" || row.Attempt != 2 || len(row.Process) > 0 || r.transcript("a") != before || strings.Contains(before, "stale") {
		t.Errorf("the stale attempt has written: %+v\n%s", row, r.transcript("a"))
	}
	if r.scheduled(store.KindDelivery) != 1 {
		t.Error("want one delivery")
	}
}

// A run whose claim was lost because the store failed is claimed again for the next
// attempt.
func TestLostClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var attempts []int
		r := newFixture(t, runnerFunc(func(ctx context.Context, turn *runner.Turn) (*runner.Outcome, error) {
			mu.Lock()
			attempts = append(attempts, turn.Attempt)
			mu.Unlock()
			select {
			case <-time.After(time.Minute):
				return &runner.Outcome{Text: "an answer"}, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}))
		f := r.makeFaulty()
		r.start()
		r.session("a")
		r.queue("r1", "a")
		r.queue("r2", "a")
		time.Sleep(time.Second)
		f.fail(func(int64) bool { return true })
		time.Sleep(30 * time.Second)
		f.fail(nil)
		r.ends("r1", abi.RunDone, "an answer")
		r.ends("r2", abi.RunDone, "an answer")
		if !slices.Equal(attempts, []int{1, 2, 1}) {
			t.Errorf("attempts: %v", attempts)
		}
	})
}
