package host_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/internal/chat"
	"github.com/parley-wasm/parley/host/runner"
)

// blockingAgent returns an agent that answers at once in session b and elsewhere only
// when it receives from release.
func blockingAgent(release chan string) agentFunc {
	return func(ctx context.Context, turn *runner.Turn) (string, error) {
		if turn.SessionKey == "agent:main:b" {
			return "quick", nil
		}
		select {
		case text := <-release:
			if text != "send" {
				return text, nil
			}
		case <-ctx.Done():
			return "", ctx.Err()
		}
		status, _, err := sendFromTurn(ctx, turn, `{"sessionKey":"agent:main:b","message":"hello","timeoutSeconds":60,"announce":"none"}`)
		return status, err
	}
}

// While the host drains, a running agent still gets its answers: the runs that the agent
// waits for begin, and no others.
func TestDrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan string)
		h := startHost(t, openTestDB(t, dbPath(t)), openSettings, blockingAgent(release))
		id := startRun(t, h, "agent:main:a", "go")
		synctest.Wait()
		drained := make(chan error)
		go func() { drained <- h.Drain(t.Context()) }()
		synctest.Wait()
		other := startRun(t, h, "agent:main:c", "later")
		synctest.Wait()
		release <- "send"
		if err := <-drained; err != nil {
			t.Error(err)
		}
		if got := awaitReply(t, h, id); got != "ok" {
			t.Errorf("a send while the host drains: %q", got)
		}
		if r, err := h.WaitRun(t.Context(), operator, other, 0); err != nil || r.Status != abi.RunQueued {
			t.Errorf("an inbound run: %+v, %v", r, err)
		}
	})
}

// Close with an ended context interrupts a waiting Drain and ends every wait.
func TestCloseAbortsDrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, openTestDB(t, dbPath(t)), openSettings, blockingAgent(nil))
		id := startRun(t, h, "agent:main:a", "go")
		synctest.Wait()
		drained, waited, began := make(chan error, 1), make(chan error, 1), time.Now()
		go func() { drained <- h.Drain(context.Background()) }()
		go func() {
			_, err := h.WaitRun(context.Background(), operator, id, time.Hour)
			waited <- err
		}()
		synctest.Wait()
		now, cancel := context.WithCancel(t.Context())
		cancel()
		if err := h.Close(now); !errors.Is(err, context.Canceled) {
			t.Errorf("Close: %v", err)
		}
		if err := <-drained; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("Drain: %v", err)
		}
		if err := <-waited; err != nil || time.Now() != began {
			t.Errorf("WaitRun: %v, after %s", err, time.Since(began))
		}
	})
}

// A drained host begins no runs, even if it is started afterwards.
func TestStartAfterDrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := openTestDB(t, dbPath(t))
		h := newHost(t, db, openSettings, blockingAgent(nil))
		accepted, err := h.StartAgent(t.Context(), &chat.AgentRequest{SessionKey: "agent:main:b", Message: "hello"})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(h.Drain(t.Context()), h.Start(t.Context())); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if r, err := h.WaitRun(t.Context(), operator, accepted.RunID, 0); err != nil || r.Status != abi.RunQueued {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// A run in WaitRun stops waiting when the other run begins to wait for it (S4.4). The
// other run's send cannot detect the deadlock, because the wait in WaitRun is not stored.
func TestDeadlockThroughWaitRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var h *host.Host
		began := time.Now()
		h = startHost(t, openTestDB(t, dbPath(t)), openSettings, func(ctx context.Context, turn *runner.Turn) (string, error) {
			switch turn.Message {
			case "go":
				_, id, err := sendFromTurn(ctx, turn, `{"sessionKey":"agent:main:b","message":"hi","timeoutSeconds":0,"announce":"none"}`)
				if err != nil {
					return "", err
				}
				r, err := h.WaitRun(ctx, abi.Caller{SessionKey: turn.SessionKey, AgentID: "main", RunID: turn.RunID, Attempt: turn.Attempt}, id, time.Hour)
				if err != nil {
					return "", err
				}
				return r.Status, nil
			case "hi":
				time.Sleep(time.Minute)
				status, _, err := sendFromTurn(ctx, turn, `{"sessionKey":"agent:main:a","message":"back","timeoutSeconds":600,"announce":"none"}`)
				return status, err
			}
			return "REPLY_SKIP", nil
		})
		id := startRun(t, h, "agent:main:a", "go")
		time.Sleep(2 * time.Minute)
		if got := awaitReply(t, h, id); got != abi.RunRunning {
			t.Errorf("the run that waited saw %q after %s", got, time.Since(began))
		}
	})
}
