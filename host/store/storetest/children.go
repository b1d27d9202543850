package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

func testActiveChildren(t *testing.T, s store.Durable) {
	run := func(id, session, parent, status string) *store.Run {
		r := &store.Run{ID: id, SessionKey: session, SpawnedBy: parent, Status: status}
		if status != abi.RunQueued && status != abi.RunRunning {
			r.EndedAt = 1
		}
		return r
	}
	check := func(parent string, want int, busy string) {
		t.Helper()
		if got := inView(t, s, func(ctx context.Context, v store.View) (int, error) { return v.ActiveChildren(ctx, parent) }); got != want {
			t.Errorf("%s has %d active children; want %d", parent, got, want)
		}
		if got := inUpdate(t, s, func(tx store.Tx) (int, error) { return tx.ActiveChildren(parent) }); got != want {
			t.Errorf("%s has %d active children in a transaction; want %d", parent, got, want)
		}
		for _, session := range strings.Fields("c1 c2 c3 c4") {
			want := strings.Contains(busy, session)
			got := inView(t, s, func(ctx context.Context, v store.View) (bool, error) { return v.Busy(ctx, session) })
			same := inUpdate(t, s, func(tx store.Tx) (bool, error) { return tx.Busy(session) })
			if got != want || same != want {
				t.Errorf("%s is busy: %v, %v in a transaction; want %v", session, got, same, want)
			}
		}
	}
	check("p", 0, "")
	putWork(t, s, run("1", "c1", "p", abi.RunQueued), run("2", "c2", "p", abi.RunRunning), run("3", "c3", "p", abi.RunFailed), run("4", "c4", "q", abi.RunQueued),
		run("5", "c3", "", abi.RunQueued))
	check("p", 2, "c1 c2 c3 c4")
	check("q", 1, "c1 c2 c3 c4")
	check("", 0, "c1 c2 c3 c4")
	putWork(t, s, run("1", "c1", "p", abi.RunKilled), run("4", "c4", "q", abi.RunDone), run("5", "c3", "", abi.RunDone))
	check("p", 1, "c2")
	check("q", 0, "c2")
}

func testDeleteSession(t *testing.T, s store.Durable) {
	const gone, other = "agent:main:subagent:gone", "agent:main:subagent:other"
	long := []byte(`{"role":"user","content":"` + strings.Repeat("x", abi.MaxString+1) + `"}`) // stored separately from its short form
	put := func(tx store.Tx, key, sessionID string) error {
		err := tx.PutSession(&abi.Session{Key: key, SessionID: sessionID, UpdatedAt: 1, SpawnedBy: "agent:main:main", Label: "l", Sandboxed: true})
		for range 3 {
			err = errors.Join(err, tx.Append(key, &store.Message{Role: "user", JSON: long, RunID: "run of " + key}))
		}
		return err
	}
	update(t, s, func(tx store.Tx) error {
		return errors.Join(put(tx, gone, "first"), put(tx, other, "other"), put(tx, gone, "second"))
	})
	view := func() string {
		return inView(t, s, func(ctx context.Context, v store.View) (string, error) {
			var b strings.Builder
			var errs error
			for _, key := range []string{gone, other} {
				row, err := v.Get(ctx, key)
				h, err2 := v.History(ctx, &abi.HistoryRequest{SessionKey: key, Limit: 10, MaxBytes: abi.DefaultMaxBytes})
				m, err3 := v.RunMessages(ctx, "run of "+key)
				if errs = errors.Join(errs, err, err2, err3); errs == nil {
					fmt.Fprint(&b, row != nil && row.Sandboxed, " ", len(h.Messages), " ", len(m), "; ")
				}
			}
			list, err := v.List(ctx, &abi.ListRequest{Scope: &abi.Scope{SpawnedBy: "agent:main:main"}, Label: "l", Limit: 10, MaxBytes: abi.DefaultMaxBytes})
			if err == nil {
				fmt.Fprint(&b, len(list.Rows))
			}
			return b.String(), errors.Join(errs, err)
		})
	}
	if got, want := view(), "true 3 6; true 3 3; 2"; got != want {
		t.Fatalf("before: %s, want %s", got, want)
	}
	update(t, s, func(tx store.Tx) error {
		return errors.Join(tx.DeleteSession(gone), tx.DeleteSession("agent:main:absent"))
	})
	if got, want := view(), "false 0 0; true 3 3; 1"; got != want {
		t.Errorf("after: %s, want %s", got, want)
	}
	// In one transaction. A new session with the same key starts without messages.
	update(t, s, func(tx store.Tx) error {
		return errors.Join(put(tx, gone, "first"), tx.DeleteSession(gone), put(tx, gone, "first"))
	})
	if got, want := view(), "true 3 3; true 3 3; 2"; got != want {
		t.Errorf("again: %s, want %s", got, want)
	}
}
