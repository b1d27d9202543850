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

// reaper is an agent that leaves something running.
type reaper struct {
	agentFunc
	reap func(left string) error
}

func (r *reaper) Reap(_ context.Context, left json.RawMessage) error { return r.reap(string(left)) }

func TestReap(t *testing.T) {
	for _, failure := range []error{nil, errors.New("not mine")} {
		began := make(chan string, 1)
		first := newRig(t, agentFunc(func(ctx context.Context, turn *runner.Turn) (*runner.Outcome, error) {
			if err := turn.Leave(ctx, map[string]int{"pid": 42}); err != nil {
				return nil, err
			}
			return waiting(began)(ctx, turn)
		}))
		first.breakable()
		first.session("a")
		first.queue("r1", "a")
		first.start()
		<-began
		if p := string(first.row("r1").Process); p != `{"pid":42}` {
			t.Errorf("process: %s", p)
		}
		first.kill()
		var reaped []string
		var r *rig
		r = first.next(&reaper{
			agentFunc: func(context.Context, *runner.Turn) (*runner.Outcome, error) {
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
			r.ends("r1", abi.RunFailed, "interrupted: what an earlier attempt left running could not be ended: not mine")
		}
		if !slices.Equal(reaped, want) {
			t.Errorf("reaped %q, want %q", reaped, want)
		}
		if p := r.row("r1").Process; len(p) != 0 {
			t.Errorf("the process is still recorded: %s", p)
		}
	}
}

// What the run's process was is forgotten with its end too.
func TestProcessIsForgotten(t *testing.T) {
	r := newRig(t, agentFunc(func(ctx context.Context, turn *runner.Turn) (*runner.Outcome, error) {
		return &runner.Outcome{Text: "ok"}, turn.Leave(ctx, 42)
	})).start()
	r.session("a")
	r.queue("r1", "a")
	if row := r.ends("r1", abi.RunDone, "ok"); len(row.Process) != 0 {
		t.Errorf("process: %s", row.Process)
	}
}

// outlasting is an agent that leaves something running and does not return when
// its context ends, but when it is told to.
func outlasting(began chan<- string, end <-chan struct{}) agentFunc {
	return func(ctx context.Context, turn *runner.Turn) (*runner.Outcome, error) {
		if err := turn.Leave(ctx, 42); err != nil {
			return nil, err
		}
		began <- turn.RunID
		<-end
		return nil, errors.New("ended at last")
	}
}

// What a run has left is known until its agent has returned, even if the run has
// ended before; then it is no work any more.
func TestAgentOutlastsRun(t *testing.T) {
	began, end := make(chan string, 1), make(chan struct{})
	r := newRig(t, outlasting(began, end)).start()
	r.session("a")
	r.queue("r1", "a")
	<-began
	row := r.abort("r1", "enough", abi.RunKilled, "enough")
	if string(row.Process) != "42" || r.scheduled(store.KindRun) != 1 {
		t.Errorf("the agent is still there; process %q, %d scheduled", row.Process, r.scheduled(store.KindRun))
	}
	close(end)
	r.close(context.Background())
	if p := r.row("r1").Process; len(p) != 0 || r.scheduled(store.KindRun) != 0 {
		t.Errorf("the agent has returned; process %q, %d scheduled", p, r.scheduled(store.KindRun))
	}
}

// A host that dies between the end of a run and that of its agent leaves that to
// the next one, which ends it before the session goes on.
func TestReapAfterEnd(t *testing.T) {
	began, end := make(chan string, 1), make(chan struct{})
	first := newRig(t, outlasting(began, end))
	first.breakable()
	first.session("a")
	first.queue("r1", "a")
	first.queue("r2", "a")
	first.start()
	<-began
	was := first.abort("r1", "enough", abi.RunKilled, "enough")
	first.store.(*faulty).fail(func(int64) bool { return true })
	close(end)
	first.kill()

	var did []string
	r := first.next(&reaper{
		agentFunc: func(_ context.Context, turn *runner.Turn) (*runner.Outcome, error) {
			did = append(did, turn.RunID)
			return &runner.Outcome{Text: "ok"}, nil
		},
		reap: func(left string) error {
			did = append(did, "reaped "+left)
			return nil
		},
	}).start()
	r.ends("r2", abi.RunDone, "ok")
	if want := []string{"reaped 42", "r2"}; !slices.Equal(did, want) {
		t.Errorf("did %q, want %q", did, want)
	}
	row := r.row("r1")
	if len(row.Process) != 0 || row.Status != was.Status || row.Error != was.Error || row.EndedAt != was.EndedAt || row.Attempt != 1 {
		t.Errorf("the run that had ended: %+v", row)
	}
	if n := r.scheduled(store.KindRun); n != 0 {
		t.Errorf("%d runs are left", n)
	}
}
