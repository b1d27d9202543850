package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/store"
)

// reaper is a runner with a Reap method.
type reaper struct {
	runnerFunc
	reap func(left string) error
}

func (r *reaper) Reap(_ context.Context, left json.RawMessage) error { return r.reap(string(left)) }

func TestReap(t *testing.T) {
	for _, failure := range []error{nil, errors.New("not mine")} {
		began := make(chan string, 1)
		first := newFixture(t, runnerFunc(func(ctx context.Context, turn *runner.Turn) (*runner.Outcome, error) {
			if err := turn.Leave(ctx, map[string]int{"pid": 42}); err != nil {
				return nil, err
			}
			return blocking(began)(ctx, turn)
		}))
		first.makeFaulty()
		first.session("a")
		first.queue("r1", "a")
		first.start()
		<-began
		if p := string(first.row("r1").Process); p != `{"pid":42}` {
			t.Errorf("process: %s", p)
		}
		first.kill()
		var reaped []string
		var r *fixture
		r = first.next(&reaper{
			runnerFunc: func(context.Context, *runner.Turn) (*runner.Outcome, error) {
				reaped = append(reaped, "run with "+string(r.row("r1").Process))
				return &runner.Outcome{Text: "ok"}, nil
			},
			reap: func(left string) error {
				reaped = append(reaped, left)
				return failure
			},
		})
		r.start()
		want := []string{`{"pid":42}`, "run with "}
		if failure == nil {
			r.ends("r1", abi.RunDone, "ok")
		} else {
			want = want[:1]
			r.ends("r1", abi.RunFailed, "interrupted: processes of an earlier attempt could not be ended: not mine")
		}
		if !slices.Equal(reaped, want) {
			t.Errorf("reaped %q, want %q", reaped, want)
		}
		if p := r.row("r1").Process; len(p) != 0 {
			t.Errorf("the process is still recorded: %s", p)
		}
	}
}

// The end of a run deletes the record of its process.
func TestProcessRecordIsDeleted(t *testing.T) {
	r := newFixture(t, runnerFunc(func(ctx context.Context, turn *runner.Turn) (*runner.Outcome, error) {
		return &runner.Outcome{Text: "ok"}, turn.Leave(ctx, 42)
	})).start()
	r.session("a")
	r.queue("r1", "a")
	if row := r.ends("r1", abi.RunDone, "ok"); len(row.Process) != 0 {
		t.Errorf("process: %s", row.Process)
	}
}

// ignoringContext returns a runner that records a process and returns when end is
// closed, not when its context ends.
func ignoringContext(began chan<- string, end <-chan struct{}) runnerFunc {
	return func(ctx context.Context, turn *runner.Turn) (*runner.Outcome, error) {
		if err := turn.Leave(ctx, 42); err != nil {
			return nil, err
		}
		began <- turn.RunID
		<-end
		return nil, errors.New("late end")
	}
}

// If a run ends before its runner returns, its process stays recorded and the run
// stays scheduled until the runner has returned.
func TestRunEndsBeforeRunner(t *testing.T) {
	began, end := make(chan string, 1), make(chan struct{})
	r := newFixture(t, ignoringContext(began, end)).start()
	r.session("a")
	r.queue("r1", "a")
	<-began
	row := r.abort("r1", "enough", abi.RunKilled, "enough")
	if string(row.Process) != "42" || r.scheduled(store.KindRun) != 1 {
		t.Errorf("the runner is active; process %q, %d scheduled", row.Process, r.scheduled(store.KindRun))
	}
	close(end)
	r.close(context.Background())
	if p := r.row("r1").Process; len(p) != 0 || r.scheduled(store.KindRun) != 0 {
		t.Errorf("the runner has returned; process %q, %d scheduled", p, r.scheduled(store.KindRun))
	}
}

// If a host dies after the end of a run and before its runner has returned, the next
// host reaps the process before the session's next run.
func TestReapAfterEnd(t *testing.T) {
	began, end := make(chan string, 1), make(chan struct{})
	first := newFixture(t, ignoringContext(began, end))
	first.makeFaulty()
	first.session("a")
	first.queue("r1", "a")
	first.queue("r2", "a")
	first.start()
	<-began
	was := first.abort("r1", "enough", abi.RunKilled, "enough")
	first.store.(*faultyStore).fail(func(int64) bool { return true })
	close(end)
	first.kill()

	var events []string
	r := first.next(&reaper{
		runnerFunc: func(_ context.Context, turn *runner.Turn) (*runner.Outcome, error) {
			events = append(events, turn.RunID)
			return &runner.Outcome{Text: "ok"}, nil
		},
		reap: func(left string) error {
			events = append(events, "reaped "+left)
			return nil
		},
	}).start()
	r.ends("r2", abi.RunDone, "ok")
	if want := []string{"reaped 42", "r2"}; !slices.Equal(events, want) {
		t.Errorf("events %q, want %q", events, want)
	}
	row := r.row("r1")
	if len(row.Process) != 0 || row.Status != was.Status || row.Error != was.Error || row.EndedAt != was.EndedAt || row.Attempt != 1 {
		t.Errorf("the run that had ended: %+v", row)
	}
	if n := r.scheduled(store.KindRun); n != 0 {
		t.Errorf("%d runs are left", n)
	}
}
