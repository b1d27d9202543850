package host_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/internal/work"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/store"
)

// hangingAgent returns an agent that waits until its context ends.
func hangingAgent(began chan<- string) agentFunc {
	return func(ctx context.Context, turn *runner.Turn) (string, error) {
		began <- turn.RunID
		<-ctx.Done()
		return "", ctx.Err()
	}
}

func TestAbortRun(t *testing.T) {
	t.Parallel()
	began := make(chan string, 1)
	h := startHost(t, openTestDB(t, dbPath(t)), openSettings, hangingAgent(began))
	executing, queued := startRun(t, h, "agent:main:a", "one"), startRun(t, h, "agent:main:a", "two")
	<-began
	for _, abort := range []struct{ id, why string }{{queued, ""}, {executing, " enough "}} { // the queued run first: otherwise it would begin
		id := abort.id
		r, err := h.AbortRun(t.Context(), id, abort.why)
		if err != nil || r.Status != abi.RunKilled || (id == queued) != (r.StartedAt == 0) {
			t.Fatalf("%+v, %v", r, err)
		}
		if want := map[string]string{queued: "aborted by the operator", executing: "enough"}[id]; r.Error != want {
			t.Errorf("the reason is %q, want %q", r.Error, want)
		}
		if got, err := h.Run(t.Context(), id); err != nil || got.EndedAt != r.EndedAt {
			t.Errorf("%+v, %v", got, err)
		}
		if _, err := h.AbortRun(t.Context(), id, ""); !errors.Is(err, abi.Conflict) || !strings.Contains(err.Error(), "has ended already, as killed: "+r.Error) {
			t.Errorf("aborted twice: %v", err)
		}
	}
	for id, code := range map[string]abi.Code{"r_none": abi.NotFound, "": abi.NotFound} {
		if r, err := h.AbortRun(t.Context(), id, ""); r != nil || !errors.Is(err, code) {
			t.Errorf("run %q: %v, %v", id, r, err)
		}
		if r, err := h.Run(t.Context(), id); r != nil || !errors.Is(err, code) {
			t.Errorf("run %q: %v, %v", id, r, err)
		}
	}
	for _, why := range []string{strings.Repeat("x", 1001), "\xff"} {
		if _, err := h.AbortRun(t.Context(), executing, why); !errors.Is(err, abi.InvalidArgs) {
			t.Errorf("a reason of %d bytes: %v", len(why), err)
		}
	}
}

// putOrphanedRun stores the run "lost", which a dead worker has claimed, and the queued
// run "next".
func putOrphanedRun(t *testing.T, db store.Durable) {
	t.Helper()
	now := time.Now().UnixMilli()
	err := db.Update(t.Context(), func(tx store.Tx) error {
		lost := &store.Run{ID: "lost", SessionKey: "agent:main:a", AgentID: "main", Group: abi.GroupMain, Scope: "operator", Status: abi.RunRunning, Attempt: 1, QueuedAt: now, StartedAt: now}
		next := &store.Run{ID: "next", SessionKey: "agent:main:b", AgentID: "main", Group: abi.GroupMain, Scope: "operator", Status: abi.RunQueued, QueuedAt: now}
		if err := errors.Join(work.QueueRun(tx, lost), work.QueueRun(tx, next)); err != nil {
			return err
		}
		if alive, err := tx.Lease("dead", now+10_000); err != nil || !alive {
			return errors.Join(err, errors.New("no lease"))
		}
		if token, err := tx.Claim(store.KindRun, "lost", "dead", now); err != nil || token == 0 {
			return errors.Join(err, errors.New("no claim"))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A host that is not started aborts the run of a dead process and starts no other run.
// On a shared store it first waits until the dead process's lease has expired.
func TestAbortRunWithoutStart(t *testing.T) {
	t.Parallel()
	for _, shared := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			db := openTestDB(t, dbPath(t))
			putOrphanedRun(t, db)
			h := newHost(t, db, openSettings, func(context.Context, *runner.Turn) (string, error) { return "yes", nil }, func(o *host.Options) { o.Shared = shared })
			short, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			r, err := h.AbortRun(short, "lost", "enough")
			if shared {
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("while another process may execute the run: %+v, %v", r, err)
				}
				r, err = h.AbortRun(t.Context(), "lost", "another reason")
			}
			if err != nil || r.Status != abi.RunKilled || r.Error != "enough" {
				t.Errorf("%+v, %v", r, err)
			}
			if r, err := h.Run(t.Context(), "next"); err != nil || r.Status != abi.RunQueued {
				t.Errorf("another run: %+v, %v", r, err)
			}
			if err := h.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := awaitReply(t, h, "next"); got != "yes" {
				t.Errorf("after Start it answers %q", got)
			}
		})
	}
}
