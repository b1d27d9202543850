package runnertest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/runner"
)

type opener = func(t *testing.T, b Behaviour) *Subject

// run executes the turn, which must succeed.
func run(t *testing.T, a runner.Runner, turn *runner.Turn) *runner.Outcome {
	t.Helper()
	out, err := a.Run(t.Context(), turn)
	if err != nil {
		t.Fatal(err)
	}
	if out == nil {
		t.Fatal("neither an outcome nor an error")
	}
	return out
}

func wantText(t *testing.T, out *runner.Outcome, want string) {
	t.Helper()
	if out.Text != want {
		t.Errorf("answer %q, want %q", out.Text, want)
	}
}

func wantRoles(t *testing.T, s *Session, want ...string) {
	t.Helper()
	if got := strings.Join(s.Roles(), " "); got != strings.Join(want, " ") {
		t.Errorf("appended messages of %q, want %q", got, strings.Join(want, " "))
	}
}

// wantRound checks that the transcript has one tool call and its result.
func wantRound(t *testing.T, s *Session, subject *Subject) {
	t.Helper()
	if subject.Silent {
		wantRoles(t, s)
	} else {
		wantRoles(t, s, "assistant", "toolResult")
	}
}

func answer(t *testing.T, open opener) {
	subject := open(t, Behaviour{Text: "grüße, 世界"})
	s := NewSession()
	s.Add("user", "earlier")
	s.Add("assistant", "answer")
	wantText(t, run(t, subject.Runner, s.Turn("hello")), "grüße, 世界")
	wantRoles(t, s)
}

func emptyAnswer(t *testing.T, open opener) {
	wantText(t, run(t, open(t, Behaviour{}).Runner, NewSession().Turn("hello")), "")
}

func concurrent(t *testing.T, open opener) {
	subject := open(t, Behaviour{Text: "fine", Tool: "sessions_list", Args: "{}"})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			s := NewSession()
			s.Serve(t)
			out, err := subject.Runner.Run(t.Context(), s.Turn("hello"))
			if err != nil || out.Text != "fine" || len(s.Calls()) != 1 {
				t.Errorf("%+v, %v, calls %v", out, err, s.Calls())
			}
		})
	}
	wg.Wait()
}

func failure(t *testing.T, open opener) {
	subject := open(t, Behaviour{Error: "the model is overloaded"})
	out, err := subject.Runner.Run(t.Context(), NewSession().Turn("hello"))
	if err == nil || !strings.Contains(err.Error(), "the model is overloaded") {
		t.Errorf("%+v, %v; want the agent's error", out, err)
	}
}

func cancelled(t *testing.T, open opener) {
	subject := open(t, Behaviour{Hang: true})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		if subject.Hanging != nil {
			<-subject.Hanging
		}
		cancel()
	}()
	wantCancelled(t, ctx, subject, NewSession().Turn("hello"))
}

func cancelledBefore(t *testing.T, open opener) {
	subject := open(t, Behaviour{Hang: true})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out, err := subject.Runner.Run(ctx, NewSession().Turn("hello"))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v; want context.Canceled", out, err)
	}
}

func cancelInTool(t *testing.T, open opener) {
	subject := open(t, Behaviour{Text: "no answer", Tool: "sessions_send", Args: `{"message":"hi"}`})
	s := NewSession()
	s.Serve(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.OnCall = func(ctx context.Context, _ *ToolCall) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	}
	wantCancelled(t, ctx, subject, s.Turn("hello"))
}

func wantCancelled(t *testing.T, ctx context.Context, subject *Subject, turn *runner.Turn) {
	t.Helper()
	out, err := subject.Runner.Run(ctx, turn)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v; want context.Canceled", out, err)
	}
	if subject.AssertStopped != nil {
		subject.AssertStopped(t)
	}
}

func tool(t *testing.T, open opener) {
	args := `{"limit":3,"search":"a \"b\" <c> é"}`
	subject := open(t, Behaviour{Text: "found: {{result}}", Tool: "sessions_list", Args: args})
	s := NewSession()
	s.Serve(t)
	s.Answer("sessions_list", &runner.Answer{Result: json.RawMessage(`{"count":7}`)})
	wantText(t, run(t, subject.Runner, s.Turn("hello")), `found: {"count":7}`)
	calls := s.Calls()
	if len(calls) != 1 || calls[0].Tool != "sessions_list" || canonical(calls[0].Args) != canonical([]byte(args)) {
		t.Errorf("calls %v, want one of sessions_list with %s", calls, args)
	}
	wantRound(t, s, subject)
}

func toolFails(t *testing.T, open opener) {
	result := `{"status":"forbidden","error":"tools.sessions.visibility"}`
	subject := open(t, Behaviour{Text: "so: {{result}}", Tool: "sessions_send", Args: "{}"})
	s := NewSession()
	s.Serve(t)
	s.Answer("sessions_send", &runner.Answer{Result: json.RawMessage(result), Code: abi.Forbidden})
	wantText(t, run(t, subject.Runner, s.Turn("hello")), "so: "+result)
	wantRound(t, s, subject)
}

func noTools(t *testing.T, open opener) {
	subject := open(t, Behaviour{Text: "alone", Tool: "sessions_list", Args: "{}"})
	s := NewSession()
	s.Serve(t)
	turn := s.Turn("hello")
	turn.Tools = nil
	wantText(t, run(t, subject.Runner, turn), "alone")
	if calls := s.Calls(); len(calls) != 0 {
		t.Errorf("calls %v, want none", calls)
	}
	wantRoles(t, s)
}

func invalidUTF8(t *testing.T, open opener) {
	out := run(t, open(t, Behaviour{Text: "a\xffb\xc3"}).Runner, NewSession().Turn("hello"))
	if !utf8.ValidString(out.Text) {
		t.Errorf("the answer %q is not UTF-8", out.Text)
	}
	wantText(t, out, "a\uFFFDb\uFFFD")
}

// interruptAfterCall interrupts the first attempt after the tool was called and before
// its answer arrived.
func interruptAfterCall(t *testing.T, open opener) {
	interrupt(t, open, func(s *Session, stop func() error) {
		s.OnAnswer = func(context.Context, *ToolCall) error { return stop() }
	})
}

// interruptAfterResult interrupts the first attempt after all its messages were
// stored.
func interruptAfterResult(t *testing.T, open opener) {
	interrupt(t, open, func(s *Session, stop func() error) {
		s.OnAppended = func(_ context.Context, role string) error {
			if role == "toolResult" {
				return stop()
			}
			return nil
		}
		if s.silent {
			s.OnAnswer = func(context.Context, *ToolCall) error { return stop() }
		}
	})
}

func interrupt(t *testing.T, open opener, arrange func(s *Session, stop func() error)) {
	subject := open(t, Behaviour{Text: "it says {{result}}", Tool: "sessions_send", Args: `{"message":"hi"}`})
	s := NewSession()
	s.silent = subject.Silent
	s.Serve(t)
	s.Answer("sessions_send", &runner.Answer{Result: json.RawMessage(`"first"`)}, &runner.Answer{Result: json.RawMessage(`"again"`)})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	arrange(s, func() error { cancel(); return context.Canceled })
	first := s.Turn("hello")
	wantCancelled(t, ctx, subject, first)
	if calls := s.Calls(); len(calls) != 1 {
		t.Fatalf("the first attempt made the calls %v, want one", calls)
	}

	s.OnAnswer, s.OnAppended = nil, nil
	wantText(t, run(t, subject.Runner, s.Retry(first)), `it says "first"`)
	if calls := s.Calls(); len(calls) != 1 {
		t.Errorf("executed %v, want the one call of the first attempt", calls)
	}
	wantRound(t, s, subject)
}

// canonical returns the same text for equal JSON documents, "" for invalid JSON.
func canonical(raw []byte) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return ""
	}
	c, _ := json.Marshal(v)
	return string(c)
}
