package flow_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-wasm/parley/host/internal/work"
	"github.com/parley-wasm/parley/host/store"
)

// Wait detects by polling that another host has ended the flow, because that host sends
// no notification here.
func TestWaitForAnotherHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, &plugin{})
		f := &store.Flow{ID: "f", Status: store.FlowWaiting}
		w.update(func(tx store.Tx) error { return tx.PutFlow(f) })
		began, got := time.Now(), make(chan error)
		go func() {
			f, err := w.flows.Wait(t.Context(), "f")
			if err == nil && f.Status != store.FlowDone {
				err = errors.New("the flow is " + f.Status)
			}
			got <- err
		}()
		synctest.Wait()
		w.update(func(tx store.Tx) error {
			f.Status, f.EndedAt = store.FlowDone, 1
			return tx.PutFlow(f)
		})
		if err := <-got; err != nil || time.Since(began) != work.DefaultPoll {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

// Close ends the waits of callers.
func TestCloseEndsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, &plugin{})
		w.update(func(tx store.Tx) error { return tx.PutFlow(&store.Flow{ID: "f", Status: store.FlowWaiting}) })
		got := make(chan error)
		go func() {
			_, err := w.flows.Wait(t.Context(), "f")
			got <- err
		}()
		synctest.Wait()
		if err := w.flows.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-got; !errors.Is(err, work.ErrClosing) {
			t.Errorf("the wait ended with %v", err)
		}
	})
}

// Wait returns an idle flow: one that has answered and waits only for a time. It does
// not return a flow that waits for a run or has not answered.
func TestWaitForIdleFlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, &plugin{})
		far := w.clock().Add(1000 * time.Hour).UnixMilli()
		f := &store.Flow{ID: "f", Status: store.FlowWaiting, WaitUntil: far}
		put := func(change func()) {
			change()
			w.update(func(tx store.Tx) error { return tx.PutFlow(f) })
			time.Sleep(2 * work.DefaultPoll)
			synctest.Wait()
		}
		put(func() {})
		got := make(chan *store.Flow, 1)
		go func() {
			f, err := w.flows.Wait(t.Context(), "f")
			if err != nil {
				t.Error(err)
			}
			got <- f
		}()
		put(func() { f.WaitRun = "r" })
		put(func() { f.AnsweredAt = 1 })
		if len(got) != 0 {
			t.Error("Wait returned before the run had ended")
		}
		put(func() { f.WaitRun = "" })
		if len(got) != 1 {
			t.Fatal("Wait did not return for an idle flow")
		}
		if f := <-got; f == nil || f.Ended() || !f.Idle() || f.WaitUntil != far {
			t.Errorf("the flow is %+v", f)
		}
	})
}
