package host_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/runner"
)

// Two sessions send to each other concurrently. Even if both deadlock checks precede
// both commits, at least one call gets its reply and none waits until its timeout.
func TestCrossingSends(t *testing.T) {
	t.Parallel()
	const rounds = 8
	both := make(chan struct{})
	var ready sync.WaitGroup
	ready.Add(2)
	h := startHost(t, openTestDB(t, dbPath(t)), openSettings, func(ctx context.Context, turn *runner.Turn) (string, error) {
		if turn.Message != "go" {
			return "heard", nil
		}
		other := map[string]string{"agent:main:a": "agent:main:b", "agent:main:b": "agent:main:a"}[turn.SessionKey]
		ready.Done()
		<-both
		status, _, err := sendFromTurn(ctx, turn, fmt.Sprintf(`{"sessionKey":%q,"message":"hello","timeoutSeconds":60,"announce":"none"}`, other))
		return status, err
	})
	for range rounds {
		a, b := startRun(t, h, "agent:main:a", "go"), startRun(t, h, "agent:main:b", "go")
		ready.Wait()
		close(both)
		got := map[string]int{awaitReply(t, h, a): 1}
		got[awaitReply(t, h, b)]++
		if got["timeout"] > 0 || got["ok"] == 0 {
			t.Fatalf("of two sends that cross: %v", got)
		}
		both = make(chan struct{})
		ready.Add(2)
	}
}

// Only the caller that started a run and the operator may wait for it (S4.4).
func TestWaitRunPermission(t *testing.T) {
	t.Parallel()
	h := startHost(t, openTestDB(t, dbPath(t)), openSettings, func(ctx context.Context, turn *runner.Turn) (string, error) {
		if turn.SessionKey == "agent:main:b" {
			return "done", nil
		}
		_, id, err := sendFromTurn(ctx, turn, `{"sessionKey":"agent:main:b","message":"hello","timeoutSeconds":0,"announce":"none"}`)
		return id, err
	})
	starter := startRun(t, h, "agent:main:a", "send")
	id := awaitReply(t, h, starter)
	for _, tt := range []struct {
		name   string
		caller abi.Caller
		code   abi.Code
	}{
		{"the session that started it", abi.Caller{SessionKey: "agent:main:a", AgentID: "main"}, ""},
		{"a run of that session", abi.Caller{SessionKey: "agent:main:a", AgentID: "main", RunID: starter}, ""},
		{"the operator", operator, ""},
		{"the session that it ran in", abi.Caller{SessionKey: "agent:main:b", AgentID: "main"}, abi.NotFound},
		{"another session of the agent", abi.Caller{SessionKey: "agent:main:c", AgentID: "main"}, abi.NotFound},
		{"another agent", abi.Caller{SessionKey: "agent:ops:main", AgentID: "ops"}, abi.NotFound},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := h.WaitRun(t.Context(), tt.caller, id, time.Minute)
			switch {
			case tt.code != "" && !errors.Is(err, tt.code):
				t.Errorf("got %+v, %v; want %s", r, err, tt.code)
			case tt.code == "" && (err != nil || r.Reply != "done"):
				t.Errorf("got %+v, %v; want the ended run", r, err)
			}
		})
	}
}

// A run that waits for another run holds no slot (S4.5). It does not wait for a run that
// is queued behind it in its own session (S4.4).
func TestWaitRunReleasesSlot(t *testing.T) {
	t.Parallel()
	var h *host.Host
	third := make(chan struct{})
	h = startHost(t, openTestDB(t, dbPath(t)), `{ runs: { groups: { main: 1 } }, `+openSettings[1:], func(ctx context.Context, turn *runner.Turn) (string, error) {
		switch turn.Message {
		case "hello":
			select {
			case <-third:
			case <-ctx.Done():
			}
			return "heard", ctx.Err()
		case "third":
			close(third)
			return "", nil
		case "wait":
		default: // a turn of the reply-back loop
			return "REPLY_SKIP", nil
		}
		self := abi.Caller{SessionKey: turn.SessionKey, AgentID: "main", RunID: turn.RunID}
		var said []string
		for _, to := range []string{"agent:main:b", turn.SessionKey} {
			_, id, err := sendFromTurn(ctx, turn, fmt.Sprintf(`{"sessionKey":%q,"message":"hello","timeoutSeconds":0,"announce":"none"}`, to))
			if err != nil {
				return "", err
			}
			r, err := h.WaitRun(ctx, self, id, 50*time.Second)
			if err != nil {
				return "", err
			}
			said = append(said, r.Status)
		}
		return strings.Join(said, " "), nil
	})
	first := startRun(t, h, "agent:main:a", "wait")
	startRun(t, h, "agent:main:c", "third")
	// The run in session b ends only after the third run has begun, and the third run
	// needs the slot that the first run has released.
	if got := awaitReply(t, h, first); got != "done queued" {
		t.Errorf("a run that waits for another session, and then for itself, saw %q", got)
	}
}
