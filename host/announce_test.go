package host_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/internal/chat"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/store"
)

// The channel refuses an announce permanently. The flow's status shows that, and the
// operator can resend the delivery later (S10.3).
func TestRefusedAnnounce(t *testing.T) {
	t.Parallel()
	db, w := openTestDB(t, dbPath(t)), &captureSink{refuse: "chat not found"}
	putSessions(t, db, telegramSession("agent:main:p"))
	h := startHost(t, db, `{}`, func(context.Context, *runner.Turn) (string, error) { return "it is done", nil }, w.install)
	s := spawn(t, h, session("agent:main:p"), `{"task":"do it"}`)
	const child = "kept 60 min; announce queued: "
	if got := awaitStatus(t, h, s.flow); got != child+"failed: chat not found" {
		t.Errorf("the flow's status text is %q", got)
	}
	failed, err := h.Deliveries(t.Context(), &store.Filter{FlowID: s.flow})
	if err != nil || len(failed) != 1 || failed[0].Status != store.DeliveryFailed || failed[0].Attempts != 1 {
		t.Fatalf("%+v, %v", failed, err)
	}
	w.setRefusal("")
	if err := h.ResendDelivery(t.Context(), failed[0].ID); err != nil {
		t.Fatal(err)
	}
	if got := awaitStatus(t, h, s.flow); got != child+"delivered" {
		t.Errorf("then the flow's status text is %q", got)
	}
	if got := w.onlyReport(t, "agent:main:p"); got.status != "success" || got.result != "it is done" {
		t.Errorf("announced %+v", got)
	}
	if err := h.ResendDelivery(t.Context(), failed[0].ID); !errors.Is(err, abi.Conflict) {
		t.Errorf("resent after it was delivered: %v", err)
	}
}

// The parent is archived while its child runs, so the child cannot report. The result
// is stored, the flow's status text says so, and the child is kept although cleanup is
// "delete" (S5.6).
func TestParentArchivedDuringRun(t *testing.T) {
	t.Parallel()
	for _, announce := range []string{"channel", "parent"} {
		t.Run(announce, func(t *testing.T) {
			db, w, release := openTestDB(t, dbPath(t)), &captureSink{}, make(chan struct{})
			putSessions(t, db, telegramSession("agent:main:p"))
			h := startHost(t, db, `{}`, func(context.Context, *runner.Turn) (string, error) {
				<-release
				return "too late", nil
			}, w.install)
			s := spawn(t, h, session("agent:main:p"), fmt.Sprintf(`{"task":"do it","announce":%q,"cleanup":"delete"}`, announce))
			archived := true
			if _, err := h.PatchSession(t.Context(), &chat.Patch{Key: "agent:main:p", Archived: &archived}); err != nil {
				t.Fatal(err)
			}
			close(release)
			if got := awaitStatus(t, h, s.flow); got != "kept 60 min; stored only (the requester session is archived), and therefore kept" {
				t.Errorf("the flow's status text is %q", got)
			}
			if posts := w.take(); len(posts) > 0 {
				t.Errorf("posted: %q", posts)
			}
			if child := getSession(t, db, s.child); child == nil || child.Status != abi.RunDone || child.ArchivedAt != 0 {
				t.Fatalf("the child is %+v", child)
			}
			answer, err := h.Call(t.Context(), &host.Call{Tool: abi.ToolHistory, Caller: operator, Args: fmt.Appendf(nil, `{"sessionKey":%q}`, s.child)})
			if err != nil || !strings.Contains(string(answer.Result), "too late") {
				t.Errorf("its transcript is %+v, %v", answer, err)
			}
			if n := countRuns(t, h, s.child) + countRuns(t, h, "agent:main:p"); n != 1 {
				t.Errorf("%d runs, want the child's own", n)
			}
		})
	}
}

// An agent spawns a child in response to each report. When the chain has its maximum
// length, the next spawn is forbidden with a text for the agent, and all flows become
// idle (S5.6).
func TestReportChainLimit(t *testing.T) {
	t.Parallel()
	const longest = 8
	answers := make(chan string, 2*longest)
	h := startHost(t, openTestDB(t, dbPath(t)), `{}`, func(ctx context.Context, turn *runner.Turn) (string, error) {
		if turn.SessionKey != "agent:main:a" {
			return "the child's answer", nil
		}
		answer, err := turn.Tools.Call(ctx, abi.ToolSpawn, []byte(`{"task":"continue","announce":"parent"}`))
		if err != nil {
			answers <- err.Error()
			return "", err
		}
		answers <- string(answer.Result)
		return gjson.GetBytes(answer.Result, "status").Str, nil
	})
	awaitReply(t, h, startRun(t, h, "agent:main:a", "begin"))
	for i := range longest {
		if got := gjson.Get(<-answers, "status").Str; got != "accepted" {
			t.Fatalf("spawn %d is %s", i+1, got)
		}
	}
	if got := <-answers; gjson.Get(got, "status").Str != "forbidden" || !strings.Contains(got, "a chain of 8 sends and spawns") {
		t.Errorf("the spawn beyond the limit is answered %s", got)
	}
	flows, err := h.Flows(t.Context(), &store.Filter{})
	if err != nil || len(flows) != longest {
		t.Fatalf("%d flows, %v; want %d", len(flows), err, longest)
	}
	for i, f := range flows { // newest first
		if got := awaitStatus(t, h, f.ID); !strings.HasSuffix(got, "reported; the requester answered, and has no channel") {
			t.Errorf("flow %d: the status text is %q", i, got)
		}
	}
	runs, err := h.Runs(t.Context(), &store.Filter{Limit: 1000})
	if err != nil || len(runs) != 1+3*longest {
		t.Errorf("%d runs, %v; want %d", len(runs), err, 1+3*longest)
	}
	most := 0
	for _, r := range runs {
		if most = max(most, r.Hops); r.Status != abi.RunDone {
			t.Errorf("a run in %s is %s: %s", r.SessionKey, r.Status, r.Error)
		}
	}
	if most != longest {
		t.Errorf("the longest chain has %d hops", most)
	}
	if len(answers) != 0 {
		t.Errorf("the agent spawned again: %s", <-answers)
	}
}

// A task of the maximum length reaches the child completely (S5.1).
func TestLongestTask(t *testing.T) {
	t.Parallel()
	db, w, tasks := openTestDB(t, dbPath(t)), &captureSink{}, make(chan string, 1)
	putSessions(t, db, telegramSession("agent:main:p"))
	h := startHost(t, db, `{}`, func(_ context.Context, turn *runner.Turn) (string, error) {
		if isAnnounceTurn(turn) {
			return "Result: read it", nil
		}
		tasks <- turn.Message
		return "read it", nil
	}, w.install)
	task := strings.Repeat("é", abi.MaxText/2-1) + "ok"
	s := spawn(t, h, session("agent:main:p"), `{"task":"`+task+`"}`)
	if got := <-tasks; got != task {
		t.Errorf("the task is %d bytes, %.20q …; want %d", len(got), got, len(task))
	}
	awaitStatus(t, h, s.flow)
	if got := w.onlyReport(t, "agent:main:p"); got.status != "success" || got.result != "read it" {
		t.Errorf("announced %.300v", got)
	}
}

// A child's own run or its announce run answers with the maximum length. The announce
// has the truncated answer and a note of the truncation.
func TestLongestAnswer(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789abcdeé", abi.MaxText/17) // 17 bytes
	long += strings.Repeat(".", abi.MaxText-len(long))
	for _, tt := range []struct{ name, own, announce string }{
		{"the child's own", long, ""},
		{"its announce", "short", "Result: " + long[len("Result: "):]},
		{"more than the guest's memory", strings.Repeat("0123456789\nabcde", 1<<20), ""},
		{"quotes, which take twice as much in JSON", strings.Repeat(`"`, abi.MaxText), ""},
		{"control characters, which take six times as much", strings.Repeat("\x01", abi.MaxText/4), ""},
		{"only short lines", "short", "x" + strings.Repeat("\na", abi.MaxText/2-1)},
		{"lines with a colon", "short", "x" + strings.Repeat("\na:", abi.MaxText/3-1)},
		{"lines that begin with a word of status", "short", "Result: x" + strings.Repeat("\nstatus: a", abi.MaxText/10-1)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			db, w := openTestDB(t, dbPath(t)), &captureSink{}
			putSessions(t, db, telegramSession("agent:main:p"))
			h := startHost(t, db, `{}`, func(_ context.Context, turn *runner.Turn) (string, error) {
				if isAnnounceTurn(turn) {
					return tt.announce, nil
				}
				return tt.own, nil
			}, w.install)
			s := spawn(t, h, session("agent:main:p"), `{"task":"write"}`)
			if got := awaitStatus(t, h, s.flow); !strings.HasSuffix(got, "announce queued: delivered") {
				t.Errorf("the flow's status text is %q", got)
			}
			got := w.onlyReport(t, "agent:main:p")
			text, truncated := strings.CutSuffix(got.result, "\n…(truncated)…")
			whole := strings.TrimPrefix(tt.announce, "Result: ")
			if whole == "" {
				whole = tt.own
			}
			if !strings.HasPrefix(whole, text) || truncated != (len(text) < len(whole)) || truncated && len(text) < abi.MaxText-65<<10 {
				t.Errorf("announced %d bytes of %d, truncated %t, … %q", len(text), len(whole), truncated, got.result[len(got.result)-20:])
			}
			if r, err := h.Run(t.Context(), s.run); err != nil || r.Reply != tt.own {
				t.Errorf("the run has stored %d bytes of %d, %v", len(r.Reply), len(tt.own), err)
			}
		})
	}
}
