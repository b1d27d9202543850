package script_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/run/script"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/runner/runnertest"
)

func open(t *testing.T, replies ...script.Reply) *script.Runner {
	t.Helper()
	a, err := script.New(&script.Options{Replies: replies})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestRunner(t *testing.T) {
	runnertest.Exercise(t, func(t *testing.T, b runnertest.Behaviour) *runnertest.Subject {
		reply := script.Reply{Text: b.Text, Error: b.Error, Tool: b.Tool, Args: []byte(b.Args)}
		if b.Hang {
			reply.After = time.Hour
		}
		return &runnertest.Subject{Runner: open(t, reply)}
	})
}

// The n-th run of a session gets the n-th reply, regardless of how earlier runs ended and
// which Runner executes the run.
func TestReplies(t *testing.T) {
	replies := []script.Reply{
		{Text: "first"},
		{Error: "second fails"},
		{Text: "third: {{result}}", Tool: "sessions_list"},
		{Text: "the rest: {{message}}"},
	}
	s := runnertest.NewSession()
	for i, want := range []string{"first", "second fails", "third: {}", "the rest: run 3", "the rest: run 4"} {
		turn := s.Turn(fmt.Sprint("run ", i))
		var last *runner.Outcome
		for attempt := range 2 {
			out, err := open(t, replies...).Run(t.Context(), turn)
			if err != nil && err.Error() != want || err == nil && out.Text != want {
				t.Errorf("run %d, attempt %d: %+v, %v; want %q", i, attempt+1, out, err, want)
			}
			turn, last = s.Retry(turn), out
		}
		s.End(last)
	}
}

func TestDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := open(t, script.Reply{Text: "late", After: time.Hour})
		start := time.Now()
		out, err := a.Run(t.Context(), runnertest.NewSession().Turn("hello"))
		if err != nil || out.Text != "late" || time.Since(start) != time.Hour {
			t.Errorf("%+v, %v after %v", out, err, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start = time.Now()
		_, err = a.Run(ctx, runnertest.NewSession().Turn("hello"))
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

// Placeholders in tool results and messages are not replaced.
func TestPlaceholders(t *testing.T) {
	out, err := open(t, script.Reply{Text: "{{message}}|{{result}}"}).Run(t.Context(), runnertest.NewSession().Turn("{{result}}{{message}}"))
	if err != nil || out.Text != "{{result}}{{message}}|" {
		t.Errorf("%+v, %v", out, err)
	}
}

// A reply with usage reports the turn's model; one without usage reports no model.
func TestUsage(t *testing.T) {
	in, out := int64(900), int64(300)
	turn := runnertest.NewSession().Turn("hello")
	turn.Model = "small"
	for _, usage := range []*abi.Usage{nil, {Input: &in, Output: &out}} {
		want := &runner.Outcome{Text: "hi"}
		if usage != nil {
			want = &runner.Outcome{Text: "hi", Model: "small", Usage: &abi.Usage{Input: &in, Output: &out}}
		}
		got, err := open(t, script.Reply{Text: "hi", Usage: usage}).Run(t.Context(), turn)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%v %s", err, d)
		}
	}
}

func TestNoReplies(t *testing.T) {
	if _, err := script.New(nil); err == nil {
		t.Error("New accepted a list without replies")
	}
}
