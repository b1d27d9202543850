package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

// changeAll makes a change of every kind in a transaction, under a name.
func changeAll(tx store.Tx, name string) error {
	key := "agent:main:" + name
	if err := tx.PutSession(&abi.Session{Key: key, SessionID: name, UpdatedAt: 1}); err != nil {
		return err
	}
	if err := tx.Append(key, &store.Message{Role: "user", RunID: name, JSON: []byte(`{"content":"x"}`)}); err != nil {
		return err
	}
	if _, err := tx.Lease("w", 1000); err != nil {
		return err
	}
	if err := putAll(tx, &store.Flow{ID: name, Call: store.CallKey{Scope: "s", ID: name}, Status: store.FlowDone}, &store.Run{ID: name, SessionKey: key},
		&store.Delivery{ID: name}, store.Due{Kind: store.KindRun, ID: name, At: 5}); err != nil {
		return err
	}
	if token, err := tx.Claim(store.KindRun, name, "w", 0); token == 0 || err != nil {
		return fmt.Errorf("claim: %d, %w", token, err)
	}
	return nil
}

// checkChanges checks that all changes of changeAll are stored (want), or none.
func checkChanges(t *testing.T, s store.Durable, name string, want bool) {
	t.Helper()
	ctx := context.Background()
	v, err := s.View(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	session, err := v.Get(ctx, "agent:main:"+name)
	messages, err2 := v.RunMessages(ctx, name)
	flow, err3 := v.FlowOf(ctx, store.CallKey{Scope: "s", ID: name})
	run, err4 := v.Run(ctx, name)
	delivery, err5 := v.Delivery(ctx, name)
	due, err6 := v.Due(ctx, store.KindRun)
	if err := errors.Join(err, err2, err3, err4, err5, err6); err != nil {
		t.Fatal(err)
	}
	got := []bool{session != nil, len(messages) == 1, flow != nil, run != nil, delivery != nil, slices.Contains(due, store.Due{Kind: store.KindRun, ID: name, At: 5})}
	if slices.Contains(got, !want) {
		t.Errorf("%s: session, message, flow, run, delivery and work are stored: %v; want all %v", name, got, want)
	}
}

func testUpdateFails(t *testing.T, s store.Durable) {
	failed := errors.New("failed")
	err := s.Update(context.Background(), func(tx store.Tx) error { return errors.Join(changeAll(tx, "lost"), failed) })
	if !errors.Is(err, failed) {
		t.Errorf("update: %v; want the error of fn", err)
	}
	checkChanges(t, s, "lost", false)
	if err := s.Update(context.Background(), func(store.Tx) error { return failed }); err != failed {
		t.Errorf("update: %v; want the error of fn itself", err)
	}
	update(t, s, func(tx store.Tx) error { return changeAll(tx, "kept") })
	checkChanges(t, s, "kept", true)
	checkChanges(t, s, "lost", false)
}

// runTogether runs an update that waits, in its transaction, until the other functions
// have called Update, so that these are likely to share the next commit.
func runTogether(t *testing.T, s store.Durable, others ...func()) {
	t.Helper()
	var calling, group sync.WaitGroup
	calling.Add(len(others))
	begun := make(chan struct{})
	var once sync.Once
	group.Go(func() {
		update(t, s, func(store.Tx) error {
			once.Do(func() { close(begun) })
			calling.Wait()
			return nil
		})
	})
	<-begun
	for _, other := range others {
		group.Go(func() {
			calling.Done()
			other()
		})
	}
	group.Wait()
}

func testUpdateAmongMany(t *testing.T, s store.Durable) {
	const n = 30
	failed := errors.New("failed")
	var others []func()
	for i := range n {
		name := fmt.Sprint("n", i)
		others = append(others, func() {
			err := s.Update(context.Background(), func(tx store.Tx) error {
				if err := changeAll(tx, name); err != nil || i%3 != 0 {
					return err
				}
				return failed
			})
			if (i%3 == 0) != errors.Is(err, failed) {
				t.Errorf("update %d: %v", i, err)
			}
		})
	}
	runTogether(t, s, others...)
	for i := range n {
		checkChanges(t, s, fmt.Sprint("n", i), i%3 != 0)
	}
}

func testUpdatePanics(t *testing.T, s store.Durable) {
	var others []func()
	for i := range 6 {
		name := fmt.Sprint("p", i)
		others = append(others, func() {
			defer func() {
				if p := recover(); (i%2 == 0) != (p == any(name)) {
					t.Errorf("update %d: recovered %v", i, p)
				}
			}()
			update(t, s, func(tx store.Tx) error {
				if err := changeAll(tx, name); err != nil {
					return err
				}
				if i%2 == 0 {
					panic(name)
				}
				return nil
			})
		})
	}
	runTogether(t, s, others...)
	for i := range others {
		checkChanges(t, s, fmt.Sprint("p", i), i%2 != 0)
	}
}

func testUpdateCanceled(t *testing.T, s store.Durable) {
	ctx, cancel := context.WithCancel(context.Background())
	err := s.Update(ctx, func(tx store.Tx) error {
		cancel() // too late
		return changeAll(tx, "begun")
	})
	if err != nil {
		t.Errorf("an update whose context is canceled after it has begun: %v", err)
	}
	checkChanges(t, s, "begun", true)
	if err := s.Update(ctx, func(tx store.Tx) error { return changeAll(tx, "late") }); !errors.Is(err, context.Canceled) {
		t.Errorf("update: %v; want canceled", err)
	}
	checkChanges(t, s, "late", false)

	// An update that waits for another one fails when its context is canceled.
	ctx, cancel = context.WithCancel(context.Background())
	left := make(chan error)
	update(t, s, func(store.Tx) error {
		go func() { left <- s.Update(ctx, func(tx store.Tx) error { return changeAll(tx, "left") }) }()
		cancel()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("a waiting update: %v; want canceled", err)
		}
		return nil
	})
	checkChanges(t, s, "left", false)
}

func testTxEnds(t *testing.T, s store.Durable) {
	var late store.Tx
	update(t, s, func(tx store.Tx) error { late = tx; return nil })
	_, err := late.Run("x")
	_, err2 := late.Claim(store.KindRun, "x", "w", 0)
	_, err3 := late.WaitingFlows("x")
	for _, err := range []error{err, err2, err3, late.PutFlow(&store.Flow{ID: "late"}), late.Schedule(store.KindFlow, "late", 0), late.PutSession(&abi.Session{Key: "agent:main:late"})} {
		if err == nil {
			t.Error("a transaction was used after its update")
		}
	}
}

func testTxReads(t *testing.T, s store.Durable) {
	update(t, s, func(tx store.Tx) error {
		if err := changeAll(tx, "own"); err != nil {
			return err
		}
		session, err := tx.Session("agent:main:own")
		flow, err2 := tx.Flow("own")
		flowOf, err3 := tx.FlowOf(store.CallKey{Scope: "s", ID: "own"})
		run, err4 := tx.Run("own")
		delivery, err5 := tx.Delivery("own")
		if session == nil || flow == nil || flowOf == nil || run == nil || delivery == nil {
			t.Errorf("an update reads %v, %v, %v, %v, %v of its own writes", session, flow, flowOf, run, delivery)
		}
		return errors.Join(err, err2, err3, err4, err5)
	})
	if v := workView(t, s); v != nil {
		for _, absent := range []func(context.Context) (bool, error){
			func(ctx context.Context) (bool, error) { r, err := v.Flow(ctx, "absent"); return r == nil, err },
			func(ctx context.Context) (bool, error) { r, err := v.Run(ctx, "absent"); return r == nil, err },
			func(ctx context.Context) (bool, error) { r, err := v.Delivery(ctx, "absent"); return r == nil, err },
			func(ctx context.Context) (bool, error) {
				r, err := v.FlowOf(ctx, store.CallKey{})
				return r == nil, err
			},
			func(ctx context.Context) (bool, error) {
				r, err := v.RunOf(ctx, store.CallKey{Scope: "s", ID: "absent"})
				return r == nil, err
			},
			func(ctx context.Context) (bool, error) { m, err := v.RunMessages(ctx, ""); return len(m) == 0, err },
		} {
			if none, err := absent(context.Background()); !none || err != nil {
				t.Errorf("an absent row was found, or the read failed: %v", err)
			}
		}
	}
}

// testConcurrentUpdates runs concurrent updates that each add a different amount to one
// sum. No amount is lost.
func testConcurrentUpdates(t *testing.T, s store.Durable) {
	const workers, rounds = 16, 20
	putWork(t, s, &store.Flow{ID: "sum"})
	var group sync.WaitGroup
	for i := range workers {
		group.Go(func() {
			for j := range rounds {
				err := s.Update(context.Background(), func(tx store.Tx) error {
					f, err := tx.Flow("sum")
					if err != nil {
						return err
					}
					f.Step += i*rounds + j
					return errors.Join(tx.PutFlow(f), tx.PutRun(&store.Run{ID: fmt.Sprint(i, "-", j)}))
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	const n = workers * rounds
	sum := inView(t, s, func(ctx context.Context, v store.View) (*store.Flow, error) { return v.Flow(ctx, "sum") }).Step
	runs := inView(t, s, func(ctx context.Context, v store.View) ([]*store.Run, error) {
		return v.Runs(ctx, &store.Filter{Limit: 2 * n})
	})
	if sum != n*(n-1)/2 || len(runs) != n {
		t.Errorf("the sum is %d, of %d runs; want %d of %d", sum, len(runs), n*(n-1)/2, n)
	}
}

func testViewIsolation(t *testing.T, s store.Durable) {
	putWork(t, s, &store.Run{ID: "a", Status: abi.RunQueued})
	before := workView(t, s)
	putWork(t, s, &store.Run{ID: "a", Status: abi.RunDone, EndedAt: 1}, &store.Run{ID: "b"}, store.Due{Kind: store.KindRun, ID: "b"})
	ctx := context.Background()
	run, err := before.Run(ctx, "a")
	runs, err2 := before.Runs(ctx, &store.Filter{})
	due, err3 := before.Due(ctx, store.KindRun)
	if err := errors.Join(err, err2, err3); err != nil || run.Status != abi.RunQueued || len(runs) != 1 || len(due) != 0 {
		t.Errorf("an older view contains %+v, %d runs, %v, %v", run, len(runs), due, err)
	}
}
