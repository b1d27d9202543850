package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-wasm/parley/host/store"
)

// workers calls the methods of Tx that workers use, each in its own update.
type workers struct {
	*testing.T
	store.Durable
}

func (w workers) lease(worker string, until int64, want bool) {
	w.Helper()
	if got := inUpdate(w, w.Durable, func(tx store.Tx) (bool, error) { return tx.Lease(worker, until) }); got != want {
		w.Errorf("a lease for %s until %d: %v; want %v", worker, until, got, want)
	}
}

// claim claims run x and returns the fencing token. It checks whether the claim was
// granted.
func (w workers) claim(worker string, now int64, want bool) int64 {
	w.Helper()
	token := inUpdate(w, w.Durable, func(tx store.Tx) (int64, error) { return tx.Claim(store.KindRun, "x", worker, now) })
	if (token > 0) != want {
		w.Errorf("at %d, %s claims with token %d; want a token: %v", now, worker, token, want)
	}
	return token
}

func (w workers) holds(worker string, token int64, want bool) {
	w.Helper()
	if got := inUpdate(w, w.Durable, func(tx store.Tx) (bool, error) { return tx.Holds(store.KindRun, "x", worker, token) }); got != want {
		w.Errorf("%s holds %d: %v; want %v", worker, token, got, want)
	}
}

func (w workers) unclaim(worker string, token int64) {
	w.Helper()
	update(w, w.Durable, func(tx store.Tx) error { return tx.Unclaim(store.KindRun, "x", worker, token) })
}

func (w workers) schedule(at int64) {
	w.Helper()
	update(w, w.Durable, func(tx store.Tx) error { return tx.Schedule(store.KindRun, "x", at) })
}

func dueOf(t *testing.T, s store.Durable, kind string) []store.Due {
	t.Helper()
	return inView(t, s, func(ctx context.Context, v store.View) ([]store.Due, error) { return v.Due(ctx, kind) })
}

func testDue(t *testing.T, s store.Durable) {
	d := func(kind, id string, at int64) store.Due { return store.Due{Kind: kind, ID: id, At: at} }
	putWork(t, s, d("run", "b", 5), d("run", "a", 5), d("run", "c", 1), d("flow", "a", 9), d("run", "d", 7), d("run", "c", 6))
	update(t, s, func(tx store.Tx) error {
		return errors.Join(tx.Unschedule("run", "d"), tx.Unschedule("run", "absent"), tx.Unschedule("delivery", "a"))
	})
	for kind, want := range map[string][]store.Due{
		"run":      {d("run", "a", 5), d("run", "b", 5), d("run", "c", 6)},
		"flow":     {d("flow", "a", 9)},
		"delivery": nil,
	} {
		if diff := cmp.Diff(want, dueOf(t, s, kind)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
		for before := range int64(11) {
			got := inView(t, s, func(ctx context.Context, v store.View) (int, error) { return v.CountDue(ctx, kind, before) })
			due := 0
			for _, d := range want {
				if d.At < before {
					due++
				}
			}
			if got != due {
				t.Errorf("%d pieces of kind %s are scheduled before %d; want %d", got, kind, before, due)
			}
		}
	}
}

func testClaims(t *testing.T, s store.Durable) {
	w := workers{t, s}
	w.lease("a", 100, true)
	w.lease("b", 100, true)
	w.claim("a", 0, false) // nothing is scheduled
	w.schedule(50)
	w.claim("unknown", 0, false) // has no lease
	first := w.claim("a", 0, true)
	w.holds("a", first, true)
	w.holds("a", first+1, false)
	w.holds("a", 0, false)
	w.holds("b", first, false)
	w.claim("b", 0, false)

	second := w.claim("a", 0, true) // again
	w.holds("a", first, false)
	w.holds("a", second, true)
	w.unclaim("a", first)  // an old claim
	w.unclaim("b", second) // another worker's claim
	w.holds("a", second, true)

	w.schedule(60) // keeps the claim
	w.holds("a", second, true)
	w.claim("b", 0, false)
	w.unclaim("a", second)
	w.holds("a", second, false)
	if diff := cmp.Diff([]store.Due{{Kind: store.KindRun, ID: "x", At: 60}}, dueOf(t, s, store.KindRun)); diff != "" {
		t.Errorf("after the release (-want +got):\n%s", diff)
	}
	third := w.claim("b", 0, true)
	if !(first < second && second < third) {
		t.Errorf("the tokens %d, %d, %d do not grow", first, second, third)
	}
	update(t, s, func(tx store.Tx) error { return tx.Unschedule(store.KindRun, "x") })
	w.holds("b", third, false)
	w.claim("b", 0, false)
	w.schedule(70)
	w.holds("b", third, false)
	w.claim("a", 0, true)

	// Other pieces of work have other claims.
	putWork(t, s, store.Due{Kind: store.KindFlow, ID: "x"}, store.Due{Kind: store.KindRun, ID: "y"})
	for _, d := range []store.Due{{Kind: store.KindFlow, ID: "x"}, {Kind: store.KindRun, ID: "y"}} {
		if token := inUpdate(t, s, func(tx store.Tx) (int64, error) { return tx.Claim(d.Kind, d.ID, "b", 0) }); token == 0 {
			t.Errorf("%v cannot be claimed", d)
		}
	}
	w.claim("b", 0, false)
	if err := s.Update(context.Background(), func(tx store.Tx) error {
		_, err := tx.Claim(store.KindRun, "x", "a", 0)
		return errors.Join(err, errors.New("failed"))
	}); err == nil {
		t.Error("an update whose fn failed returned no error")
	}
	w.claim("b", 100, false)
	w.claim("b", 101, false) // its own lease has expired too
}

func testLeases(t *testing.T, s store.Durable) {
	w := workers{t, s}
	w.lease("a", 100, true)
	w.lease("a", 200, true)
	w.lease("b", 1000, true)
	w.schedule(0)
	first := w.claim("a", 0, true)
	w.claim("b", 200, false)
	w.holds("a", first, true) // no other worker has claimed the work
	second := w.claim("b", 201, true)
	if second <= first {
		t.Errorf("the token of a later claim is %d, the token of the first is %d", second, first)
	}
	w.holds("a", first, false)
	w.holds("b", second, true)
	w.lease("a", 300, false) // the worker has been ended
	w.claim("a", 201, false)
	w.unclaim("a", first)
	w.holds("b", second, true)
	w.lease("a2", 300, true) // another id
	w.claim("a2", 201, false)
	w.unclaim("b", second)
	w.claim("a", 201, false)
	w.claim("a2", 201, true)
}

// testLateLease renews expired leases, as workers do after a clock adjustment or a
// suspend. A worker keeps its claims as long as no other worker claims one of them.
func testLateLease(t *testing.T, s store.Durable) {
	w := workers{t, s}
	w.lease("a", 100, true)
	w.schedule(0)
	token := w.claim("a", 0, true)
	w.claim("a", 101, false)
	w.claim("b", 101, false) // a worker without a lease ends no other worker
	w.lease("b", 100, true)
	w.claim("b", 101, false)
	w.lease("a", 5000, true)
	w.lease("b", 5000, true)
	w.claim("b", 5000, false)
	w.holds("a", token, true)

	// A claim ends the expired holder, which also loses its claims of other pieces.
	putWork(t, s, store.Due{Kind: store.KindRun, ID: "y"})
	other := inUpdate(t, s, func(tx store.Tx) (int64, error) { return tx.Claim(store.KindRun, "y", "a", 5000) })
	w.lease("b", 9000, true)
	w.claim("b", 5001, true)
	w.lease("a", 9000, false)
	if held := inUpdate(t, s, func(tx store.Tx) (bool, error) { return tx.Holds(store.KindRun, "y", "a", other) }); other == 0 || held {
		t.Errorf("an ended worker holds its other claim %d: %v", other, held)
	}
}

func testTakeOver(t *testing.T, s store.Durable) {
	w := workers{t, s}
	w.lease("old", 1000, true)
	w.schedule(0)
	first := w.claim("old", 0, true)
	w.lease("new", 1000, true)
	update(t, s, func(tx store.Tx) error { return tx.TakeOver("new") })
	w.holds("old", first, false)
	w.claim("old", 0, false)
	w.lease("old", 2000, false)
	second := w.claim("new", 0, true)
	if second <= first {
		t.Errorf("the token %d follows %d", second, first)
	}
	w.holds("new", second, true)
	w.lease("new", 2000, true)
	w.lease("later", 1000, true) // TakeOver ends only existing workers
	update(t, s, func(tx store.Tx) error { return tx.TakeOver("unknown") })
	w.holds("new", second, false)
	w.lease("unknown", 100, true)
	w.claim("unknown", 0, true)
}

// testConcurrentClaims claims the same pieces of work for several workers at the same
// time. Each piece gets one owner.
func testConcurrentClaims(t *testing.T, s store.Durable) {
	const workers, pieces = 8, 20
	update(t, s, func(tx store.Tx) error {
		for i := range pieces {
			if err := tx.Schedule(store.KindRun, fmt.Sprint(i), 0); err != nil {
				return err
			}
		}
		return nil
	})
	var mu sync.Mutex
	owners := make(map[int]int)
	var group sync.WaitGroup
	for i := range workers {
		group.Go(func() {
			for j := range pieces {
				var token int64
				err := s.Update(context.Background(), func(tx store.Tx) error {
					_, err := tx.Lease(fmt.Sprint(i), 10)
					if err == nil {
						token, err = tx.Claim(store.KindRun, fmt.Sprint(j), fmt.Sprint(i), 0)
					}
					return err
				})
				if err != nil {
					t.Error(err)
				}
				if token != 0 {
					mu.Lock()
					owners[j]++
					mu.Unlock()
				}
			}
		})
	}
	group.Wait()
	for j := range pieces {
		if owners[j] != 1 {
			t.Errorf("piece %d has %d owners", j, owners[j])
		}
	}
}
