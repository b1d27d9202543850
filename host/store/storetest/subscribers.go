package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-wasm/parley/host/store"
)

func testSubscribe(t *testing.T, s store.Durable) {
	first, second := make(chan []store.Due, 10), make(chan []store.Due, 10)
	cancel := s.Subscribe(func(d []store.Due) {
		// The commit is visible to readers before the notification.
		for _, due := range d {
			v, err := s.View(context.Background())
			if err != nil {
				t.Error(err)
				continue
			}
			if run, err := v.Run(context.Background(), due.ID); run == nil || err != nil {
				t.Errorf("notified of %v, but the run is %v, %v", due, run, err)
			}
			if err := v.Close(); err != nil {
				t.Error(err)
			}
		}
		first <- d
	})
	s.Subscribe(func(d []store.Due) { second <- d })
	due := func(id string, at int64) store.Due { return store.Due{Kind: store.KindRun, ID: id, At: at} }
	failed := errors.New("failed")
	if err := s.Update(context.Background(), func(tx store.Tx) error {
		return errors.Join(putAll(tx, &store.Run{ID: "lost"}, due("lost", 1)), failed)
	}); !errors.Is(err, failed) {
		t.Error(err)
	}
	putWork(t, s, &store.Run{ID: "quiet"}) // schedules nothing
	update(t, s, func(tx store.Tx) error {
		err := putAll(tx, &store.Run{ID: "a"}, &store.Run{ID: "b"}, due("b", 1), due("a", 2), due("c", 3), due("b", 4))
		return errors.Join(err, tx.Unschedule(store.KindRun, "c"))
	})
	want := []store.Due{due("a", 2), due("b", 4)}
	for _, from := range []chan []store.Due{first, second} {
		if diff := cmp.Diff(want, <-from); diff != "" {
			t.Errorf("notifications (-want +got):\n%s", diff)
		}
	}
	cancel()
	cancel()
	putWork(t, s, &store.Run{ID: "d"}, due("d", 5))
	if diff := cmp.Diff([]store.Due{due("d", 5)}, <-second); diff != "" {
		t.Errorf("notifications (-want +got):\n%s", diff)
	}
	if len(first) != 0 {
		t.Errorf("notified of %v after the subscription was canceled", <-first)
	}

	// Subscribers are notified of each commit in order.
	const n = 100
	go func() {
		for i := range n {
			update(t, s, func(tx store.Tx) error { return tx.Schedule(store.KindRun, "a", int64(i)) })
		}
	}()
	for i := range n {
		if got := <-second; len(got) != 1 || got[0] != due("a", int64(i)) {
			t.Fatalf("notified of %v; want commit %d", got, i)
		}
	}
}

// testSubscriberBlocks has a subscriber that blocks until later updates have ended.
func testSubscriberBlocks(t *testing.T, s store.Durable) {
	later := make(chan struct{})
	notified := make(chan struct{}, 10)
	s.Subscribe(func([]store.Due) {
		<-later
		notified <- struct{}{}
	})
	for i := range 3 {
		update(t, s, func(tx store.Tx) error { return tx.Schedule(store.KindRun, fmt.Sprint(i), 0) })
	}
	close(later)
	for range 3 {
		<-notified
	}
}
