package sqlite

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/parley-wasm/parley/host/store"
)

// TestSubscriberInTurn has a slow subscriber. Updates do not wait for the subscriber. It
// is called for each commit after the call for the previous one has ended. Close waits
// for the last call.
func TestSubscriberInTurn(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, db *DB) {
		proceed := make(chan struct{})
		var begun, ended []string
		db.Subscribe(func(d []store.Due) {
			begun = append(begun, idsOf(d))
			<-proceed
			ended = append(ended, idsOf(d))
		})
		for _, id := range []string{"a", "b", "c"} {
			if err := db.Update(context.Background(), scheduleRun(id)); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if !slices.Equal(begun, []string{"a"}) || len(ended) != 0 {
			t.Errorf("calls begun %q, ended %q; want that the first is in progress", begun, ended)
		}
		closed := false
		go func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
			closed = true
		}()
		for range 3 {
			synctest.Wait()
			if closed {
				t.Errorf("closed when only the calls %q had ended", ended)
			}
			proceed <- struct{}{}
		}
		synctest.Wait()
		if want := []string{"a", "b", "c"}; !closed || !slices.Equal(begun, want) || !slices.Equal(ended, want) {
			t.Errorf("closed %v, calls begun %q, ended %q; want %q", closed, begun, ended, want)
		}
	})
}

// TestSubscriberCanceled cancels a subscription while an earlier subscriber is called.
func TestSubscriberCanceled(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, db *DB) {
		cancel := func() {}
		db.Subscribe(func([]store.Due) { cancel() })
		notified := 0
		cancel = db.Subscribe(func([]store.Due) { notified++ })
		err := errors.Join(db.Update(context.Background(), scheduleRun("a")), db.Update(context.Background(), scheduleRun("b")))
		synctest.Wait()
		if err != nil || notified != 0 {
			t.Errorf("%d notifications after the subscription was canceled, %v", notified, err)
		}
	})
}

// TestBubbles uses one database inside and outside of several synctest bubbles, as
// tests of other packages do.
func TestBubbles(t *testing.T) {
	t.Parallel()
	db := openDB(t)
	for range 20 {
		if err := db.Update(t.Context(), scheduleRun("out")); err != nil {
			t.Error(err)
		}
		synctest.Test(t, func(t *testing.T) {
			for range 3 {
				if err := db.Update(t.Context(), scheduleRun("in")); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
