package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

// testIsolation holds snapshots from before, during and after a load.
func testIsolation(t *testing.T, s store.Loader) {
	const a, b = "agent:main:a", "agent:new:b"
	load(t, s, func(batch store.Batch) error {
		_, err := batch.PutSession(&abi.Session{Key: a, UpdatedAt: 1, SessionID: "old"}, nil)
		return errors.Join(err, putText(batch, a, "1", "user", "one"))
	})
	check := func(name string, v store.Snapshot, wantKeys, wantTexts []string, wantID string) {
		t.Helper()
		ctx := context.Background()
		page, err := v.List(ctx, Request())
		if err != nil || !reflect.DeepEqual(keys(page), wantKeys) {
			t.Errorf("%s: lists %v, %v; want %v", name, keys(page), err, wantKeys)
		}
		messages, err := v.History(ctx, &abi.HistoryRequest{SessionKey: a, Limit: 10})
		if err != nil || !reflect.DeepEqual(texts(messages.Messages), wantTexts) {
			t.Errorf("%s: history %v, %v; want %v", name, texts(messages.Messages), err, wantTexts)
		}
		session, err := v.Get(ctx, a)
		if err != nil || session.SessionID != wantID {
			t.Errorf("%s: get %v, %v; want sessionId %s", name, session, err, wantID)
		}
		found, err := v.Resolve(ctx, &abi.ResolveRequest{SessionID: "new"})
		if err != nil || (found == nil) != (wantID == "old") {
			t.Errorf("%s: resolve %v, %v", name, found, err)
		}
	}
	before := view(t, s) // nothing is read from it yet
	load(t, s, func(batch store.Batch) error {
		_, err := batch.PutSession(&abi.Session{Key: b, UpdatedAt: 2, SessionID: "new"}, nil)
		_, err2 := batch.PutSession(&abi.Session{Key: a, UpdatedAt: 1, SessionID: "old", Label: "x"}, nil)
		if err := errors.Join(err, err2, putText(batch, a, "2", "user", "two"), putText(batch, a, "1", "user", "ONE")); err != nil {
			return err
		}
		// An unfinished load does not block readers, and they do not see it.
		check("during", view(t, s), []string{a}, []string{"one"}, "old")
		_, err = batch.PutSession(&abi.Session{Key: a, UpdatedAt: 3, SessionID: "moved"}, nil)
		return errors.Join(err, putText(batch, a, "1", "user", "other"))
	})
	check("before", before, []string{a}, []string{"one"}, "old")
	check("after", view(t, s), []string{a, b}, []string{"other"}, "moved")
}

func testRollback(t *testing.T, s store.Loader) {
	const kept, lost = "agent:main:kept", "agent:lost:lost"
	put(t, s, &abi.Session{Key: kept, SessionID: "k"})
	failed := errors.New("failed")
	work := func(b store.Batch) error {
		for _, key := range []string{kept, lost} {
			if _, err := b.PutSession(&abi.Session{Key: key, UpdatedAt: 5, Label: "changed"}, []byte(`{"x":1}`)); err != nil {
				return err
			}
			if err := putText(b, key, "1", "user", "lost"); err != nil {
				return err
			}
		}
		return b.SetBookmark("lost", "1")
	}
	check := func(after string) {
		t.Helper()
		page := list(t, s, Request())
		if got := keys(page); !reflect.DeepEqual(got, []string{kept}) || page.Rows[0].Session.UpdatedAt != 0 {
			t.Errorf("after %s: %v is stored", after, got)
		}
		if m := history(t, s, &abi.HistoryRequest{SessionKey: kept, Limit: 5}).Messages; len(m) != 0 {
			t.Errorf("after %s: messages %q are stored", after, texts(m))
		}
		if bookmark, err := s.Bookmark(context.Background(), "lost"); bookmark != "" || err != nil {
			t.Errorf("after %s: bookmark %q, %v", after, bookmark, err)
		}
	}
	if err := s.Load(context.Background(), func(b store.Batch) error { return errors.Join(work(b), failed) }); !errors.Is(err, failed) {
		t.Errorf("load: %v; want the error of fn", err)
	}
	check("an error")
	func() {
		defer func() {
			if p := recover(); p != "panicked" {
				t.Errorf("recovered %v; want the panic of fn", p)
			}
		}()
		_ = s.Load(context.Background(), func(b store.Batch) error {
			if err := work(b); err != nil {
				t.Error(err)
			}
			panic("panicked")
		})
	}()
	check("a panic")
	ctx, cancel := context.WithCancel(context.Background())
	err := s.Load(ctx, func(b store.Batch) error {
		defer cancel()
		return work(b)
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("load with a canceled context: %v; want canceled", err)
	}
	check("a canceled context")
	load(t, s, work)
	if got := keys(list(t, s, &abi.ListRequest{Limit: 5, Label: "changed"})); len(got) != 2 {
		t.Errorf("the same work, loaded: %v", got)
	}
}

func testBatchEnds(t *testing.T, s store.Loader) {
	var late store.Batch
	load(t, s, func(b store.Batch) error { late = b; return nil })
	_, err := late.PutSession(&abi.Session{Key: "agent:main:x"}, nil)
	_, err2 := late.PutMessage("agent:main:x", &store.Message{Role: "user", JSON: []byte("{}")})
	if err == nil || err2 == nil || late.SetBookmark("a", "b") == nil {
		t.Errorf("a batch was used after its load: %v, %v", err, err2)
	}
	if got := list(t, s, Request()); len(got.Rows) != 0 {
		t.Errorf("a batch stored %v after its load", keys(got))
	}
}

func testCancel(t *testing.T, s store.Loader) {
	putRoles(t, s)
	ctx, cancel := context.WithCancel(context.Background())
	v := view(t, s)
	cancel()
	for name, ask := range map[string]func() error{
		"snapshot": func() error { _, err := s.Snapshot(ctx); return err },
		"get":      func() error { _, err := v.Get(ctx, historyKey); return err },
		"resolve":  func() error { _, err := v.Resolve(ctx, &abi.ResolveRequest{SessionID: "s"}); return err },
		"list":     func() error { _, err := v.List(ctx, Request()); return err },
		"search":   func() error { _, err := v.List(ctx, &abi.ListRequest{Limit: 1, Search: "x"}); return err },
		"history": func() error {
			_, err := v.History(ctx, &abi.HistoryRequest{SessionKey: historyKey, Limit: 5})
			return err
		},
		"load":     func() error { return s.Load(ctx, func(store.Batch) error { return nil }) },
		"bookmark": func() error { _, err := s.Bookmark(ctx, "a"); return err },
	} {
		if err := ask(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v; want canceled", name, err)
		}
	}
	page, err := v.History(context.Background(), &abi.HistoryRequest{SessionKey: historyKey, Limit: 100})
	if err != nil || len(page.Messages) != len(roles) {
		t.Errorf("the snapshot afterwards: %v", err)
	}
}

// testConcurrency checks in every snapshot an invariant that concurrent loads keep: both
// sessions have the same number of messages, which is their updatedAt.
func testConcurrency(t *testing.T, s store.Loader) {
	pair := []string{"agent:main:a", "agent:ops:b"}
	put(t, s, &abi.Session{Key: pair[0]}, &abi.Session{Key: pair[1]})
	const writers, rounds = 3, 8
	var group, reading sync.WaitGroup
	done := make(chan struct{})
	for range writers {
		group.Go(func() {
			for range rounds {
				err := s.Load(context.Background(), func(b store.Batch) error {
					n := len(history(t, s, &abi.HistoryRequest{SessionKey: pair[0], Limit: 100}).Messages) // loads do not overlap
					for _, key := range pair {
						if _, err := b.PutSession(&abi.Session{Key: key, UpdatedAt: int64(n + 1)}, nil); err != nil {
							return err
						}
						if err := putText(b, key, "", "user", fmt.Sprint(n)); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 4 {
		reading.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if err := checkPair(s, pair); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	close(done)
	reading.Wait()
	if got := len(history(t, s, &abi.HistoryRequest{SessionKey: pair[1], Limit: 100}).Messages); got != writers*rounds {
		t.Errorf("%d messages; want %d", got, writers*rounds)
	}
}

func checkPair(s store.Store, pair []string) error {
	ctx := context.Background()
	v, err := s.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer v.Close()
	page, err := v.List(ctx, &abi.ListRequest{Limit: 10, Messages: 20})
	if err != nil {
		return err
	}
	for i, key := range pair {
		m, err := v.History(ctx, &abi.HistoryRequest{SessionKey: key, Limit: 100})
		if err != nil {
			return err
		}
		if n := len(m.Messages); int64(n) != page.Rows[i].Session.UpdatedAt || min(n, 20) != len(page.Rows[i].Messages) {
			return fmt.Errorf("a snapshot shows %d messages of %s at updatedAt %d", n, key, page.Rows[i].Session.UpdatedAt)
		}
	}
	return nil
}
