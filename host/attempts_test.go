package host_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/internal/step"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/store"
)

// An attempt whose run another worker claims during the first step of a tool call
// changes nothing (S10.2).
func TestLostAttemptChangesNothing(t *testing.T) {
	t.Parallel()
	db := openTestDB(t, dbPath(t))
	var once sync.Once
	answered := make(chan string, 2)
	h := startHost(t, db, openSettings, func(ctx context.Context, turn *runner.Turn) (string, error) {
		if turn.Attempt > 1 {
			return "again", nil
		}
		status, _, err := sendFromTurn(ctx, turn, `{"sessionKey":"agent:main:b","message":"hello","timeoutSeconds":0,"announce":"none"}`)
		answered <- fmt.Sprint(status, err)
		return status, err
	}, func(o *host.Options) {
		o.Observe = func(*step.Record) { once.Do(func() { claimRun(t, db) }) }
	})
	startRun(t, h, "agent:main:a", "send")
	if got := <-answered; !strings.Contains(got, "another attempt") {
		t.Errorf("the call of a lost attempt was answered %s", got)
	}
	flows, err := h.Flows(t.Context(), &store.Filter{})
	if err != nil || len(flows) != 0 {
		t.Errorf("the attempt left %d flows, %v", len(flows), err)
	}
}

// claimRun claims the only run for another worker.
func claimRun(t *testing.T, db store.Durable) {
	err := db.Update(t.Context(), func(tx store.Tx) error {
		now := time.Now().UnixMilli()
		if _, err := tx.Lease("other", now+60_000); err != nil {
			return err
		}
		if err := tx.TakeOver("other"); err != nil {
			return err
		}
		view, err := db.View(t.Context())
		if err != nil {
			return err
		}
		defer view.Close()
		due, err := view.Due(t.Context(), store.KindRun)
		if err != nil {
			return err
		}
		token, err := tx.Claim(store.KindRun, due[0].ID, "other", now)
		if err == nil && token == 0 {
			err = errors.New("the run cannot be claimed")
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// An agent that waits in a tool call gets no answer when the host closes. The next host
// retries the run, and the new attempt gets the answer (S4.8).
func TestCloseWhileAgentWaits(t *testing.T) {
	t.Parallel()
	waiting, release := make(chan struct{}), make(chan struct{})
	act := func(ctx context.Context, turn *runner.Turn) (string, error) {
		switch turn.Message {
		case "hello":
			waiting <- struct{}{}
			select {
			case <-release:
				return "the answer", nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		case "send":
			answer, err := turn.Tools.Call(ctx, abi.ToolSend, []byte(`{"sessionKey":"agent:main:b","message":"hello","timeoutSeconds":60,"announce":"none"}`))
			if err != nil {
				return "", err
			}
			return gjson.GetBytes(answer.Result, "reply").Str, nil
		}
		return "REPLY_SKIP", nil
	}
	db := openTestDB(t, dbPath(t))
	first := startHost(t, db, openSettings, act)
	id := startRun(t, first, "agent:main:a", "send")
	<-waiting
	now, cancel := context.WithCancel(t.Context())
	cancel()
	if err := first.Close(now); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	close(release)
	next := startHost(t, db, openSettings, act)
	<-waiting
	if got := awaitReply(t, next, id); got != "the answer" {
		t.Errorf("the next attempt answered %q", got)
	}
	if n := countRuns(t, next, "agent:main:b"); n != 1 {
		t.Errorf("%d messages were sent, want one", n)
	}
}
