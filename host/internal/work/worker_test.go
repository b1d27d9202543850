package work_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-wasm/parley/host/internal/work"
	"github.com/parley-wasm/parley/host/store"
)

func TestClaimExcludesOthers(t *testing.T) {
	s := open(t)
	one, two := newWorker(t, s, "one"), newWorker(t, s, "two")
	if claim(t, one, "d") != nil {
		t.Fatal("unscheduled work was claimed")
	}
	schedule(t, s, "d", 0)
	c := claim(t, one, "d")
	if c == nil || claim(t, two, "d") != nil {
		t.Fatal("a claim does not exclude the other worker")
	}
	if err := c.Update(t.Context(), increment("d")); err != nil {
		t.Fatal(err)
	}
	if err := c.Finish(t.Context(), increment("d")); err != nil {
		t.Fatal(err)
	}
	if c.Context().Err() == nil || c.Err() == nil {
		t.Error("a finished claim is still active")
	}
	if err := c.Update(t.Context(), increment("d")); err == nil {
		t.Error("a finished claim can still write")
	}
	if claim(t, one, "d") != nil || claim(t, two, "d") != nil {
		t.Error("finished work was claimed")
	}
	if n := counter(t, s, "d"); n != 2 {
		t.Errorf("%d updates, want 2", n)
	}
}

func TestClaimRunsInOneTransaction(t *testing.T) {
	s := open(t)
	w := newWorker(t, s, "one")
	schedule(t, s, "d", 0)
	c, err := w.Claim(t.Context(), store.KindDelivery, "d", func(tx store.Tx) error {
		return errors.Join(increment("d")(tx), errFull)
	})
	if c != nil || !errors.Is(err, errFull) {
		t.Fatalf("Claim = %v, %v; want the error of fn", c, err)
	}
	if counter(t, s, "d") != 0 {
		t.Error("a failed claim has written")
	}
	if claim(t, newWorker(t, s, "two"), "d") == nil {
		t.Error("a failed claim holds the work")
	}
}

func TestGiveBack(t *testing.T) {
	s := open(t)
	one, two := newWorker(t, s, "one"), newWorker(t, s, "two")
	schedule(t, s, "d", 0)
	if err := claim(t, one, "d").GiveBack(t.Context(), increment("d")); err != nil {
		t.Fatal(err)
	}
	c := claim(t, two, "d")
	if c == nil || counter(t, s, "d") != 1 {
		t.Fatal("the work was not given back")
	}
	if err := c.Finish(t.Context(), func(store.Tx) error { return errFull }); !errors.Is(err, errFull) {
		t.Fatal(err)
	}
	if c.Err() != nil {
		t.Error("a failed Finish ended the claim")
	}
	if err := two.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c.Err() == nil {
		t.Error("the claim is active after its worker was closed")
	}
	if claim(t, one, "d") == nil {
		t.Error("a closed worker holds its claims")
	}
	if _, err := two.Claim(t.Context(), store.KindDelivery, "d", nil); err == nil {
		t.Error("Claim succeeded on a closed worker")
	}
}

func TestSecondClaimInvalidatesFirst(t *testing.T) {
	s := open(t)
	w := newWorker(t, s, "one")
	schedule(t, s, "d", 0)
	first, second := claim(t, w, "d"), claim(t, w, "d")
	if err := first.Update(t.Context(), increment("d")); !errors.Is(err, work.ErrLost) {
		t.Errorf("Update of the older claim: %v, want ErrLost", err)
	}
	if !errors.Is(context.Cause(first.Context()), work.ErrLost) {
		t.Error("the older claim does not end")
	}
	if err := second.Finish(t.Context(), increment("d")); err != nil || counter(t, s, "d") != 1 {
		t.Errorf("Finish of the newer claim: %v, done %d times", err, counter(t, s, "d"))
	}
}

func TestTakeOver(t *testing.T) {
	s := open(t)
	old, owner := newWorker(t, s, "old"), newWorker(t, s, "owner")
	schedule(t, s, "d", 0)
	lost := claim(t, old, "d")
	if err := owner.TakeOver(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := claim(t, owner, "d")
	if c == nil {
		t.Fatal("the new owner cannot claim the previous owner's work")
	}
	for _, write := range []func(context.Context, func(store.Tx) error) error{lost.Update, lost.Finish, lost.GiveBack} {
		if err := write(t.Context(), increment("d")); !errors.Is(err, work.ErrLost) {
			t.Errorf("write of the previous owner: %v, want ErrLost", err)
		}
	}
	if err := c.Finish(t.Context(), increment("d")); err != nil {
		t.Fatal(err)
	}
	if n := counter(t, s, "d"); n != 1 {
		t.Errorf("done %d times", n)
	}
	schedule(t, s, "e", 0)
	if claim(t, old, "e") == nil {
		t.Error("the previous owner cannot claim new work")
	}
}

// A worker writes one heartbeat for all its claims, and none without claims.
func TestHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := observe(open(t))
		w, other := newWorker(t, s, "one"), newWorker(t, s, "two")
		var claims []*work.Claim
		for i := range 50 {
			id := fmt.Sprint("d", i)
			schedule(t, s, id, 0)
			claims = append(claims, claim(t, w, id))
		}
		before := s.updates.Load()
		time.Sleep(10 * time.Minute)
		beats := s.updates.Load() - before
		if most := int64(10*time.Minute/(work.DefaultLease/3)) + 1; beats < 60 || beats > most {
			t.Errorf("%d heartbeats in 10 minutes, want 60 to %d", beats, most)
		}
		if claim(t, other, "d7") != nil {
			t.Error("another worker claimed work that is held")
		}
		for _, c := range claims {
			if err := c.Finish(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
		}
		before = s.updates.Load()
		time.Sleep(time.Hour)
		if n := s.updates.Load() - before; n != 0 {
			t.Errorf("%d writes of an idle worker", n)
		}
		names := s.names()
		schedule(t, s, "late", 0)
		if c := claim(t, w, "late"); c == nil || c.Err() != nil {
			t.Error("an idle worker cannot claim again")
		}
		if s.names() != names+1 {
			t.Error("a lease that expired while idle is used again")
		}
	})
}

// A worker that cannot renew its lease ends its claims before another worker can
// claim the work. Its next lease has another name.
func TestLeaseNotRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := observe(open(t))
		plain := s.Durable
		one, two := newWorker(t, s, "one"), newWorker(t, plain, "two")
		schedule(t, s, "d", 0)
		began := time.Now()
		c := claim(t, one, "d")
		s.fails.Store(true)
		<-c.Context().Done()
		if !errors.Is(context.Cause(c.Context()), work.ErrLost) {
			t.Fatalf("the claim ended with %v", context.Cause(c.Context()))
		}
		if held := time.Since(began); held >= work.DefaultLease || held < work.DefaultLease/2 {
			t.Errorf("the claim ended after %s of a lease of %s", held, work.DefaultLease)
		}
		if claim(t, two, "d") != nil {
			t.Error("the work was claimable before the lease expired in the store")
		}
		time.Sleep(work.DefaultLease)
		s.fails.Store(false)
		other := claim(t, two, "d")
		if other == nil {
			t.Fatal("the work is not claimable after the lease")
		}
		ran := false
		err := c.Update(t.Context(), func(store.Tx) error { ran = true; return nil })
		if !errors.Is(err, work.ErrLost) || ran {
			t.Errorf("Update of the lost claim: %v, ran %t", err, ran)
		}
		names := s.names()
		schedule(t, s, "e", 0)
		if claim(t, one, "e") == nil || s.names() != names+1 {
			t.Error("the worker does not begin a lease with another name")
		}
		if err := other.Finish(t.Context(), increment("d")); err != nil || counter(t, s, "d") != 1 {
			t.Errorf("%v, done %d times", err, counter(t, s, "d"))
		}
	})
}

// A lease that ends before a claim is written is not extended by that claim. The
// claim uses a lease with another name.
func TestLeaseEndsBeforeClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := observe(open(t))
		w := newWorker(t, s, "one")
		schedule(t, s, "a", 0)
		schedule(t, s, "b", 0)
		first := claim(t, w, "a")
		s.before.Store(int64(work.DefaultLease * 9 / 10))
		second := claim(t, w, "b")
		if second == nil || second.Err() != nil || !errors.Is(first.Err(), work.ErrLost) || s.names() != 2 {
			t.Errorf("claims: %v, %v under %d names", first.Err(), second, s.names())
		}
	})
}

// A claim whose lease ended during the write is undone at once.
func TestLeaseEndsAfterClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := observe(open(t))
		w, other := newWorker(t, s, "one"), newWorker(t, s.Durable, "two")
		schedule(t, s, "a", 0)
		s.after.Store(int64(work.DefaultLease * 9 / 10))
		c, err := w.Claim(t.Context(), store.KindDelivery, "a", nil)
		if c != nil || !errors.Is(err, work.ErrLost) {
			t.Errorf("Claim = %v, %v", c, err)
		}
		if claim(t, other, "a") == nil {
			t.Error("the claim was not undone")
		}
	})
}

// A store failure that is shorter than the lease has no effect.
func TestHeartbeatRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := observe(open(t))
		w := newWorker(t, s, "one")
		schedule(t, s, "d", 0)
		c := claim(t, w, "d")
		for range 20 {
			s.fails.Store(true)
			time.Sleep(work.DefaultLease / 2)
			s.fails.Store(false)
			time.Sleep(work.DefaultLease / 2)
		}
		if c.Err() != nil {
			t.Error(c.Err())
		}
	})
}

func TestWorkerOptions(t *testing.T) {
	for _, o := range []*work.WorkerOptions{nil, {}, {Store: open(t), Lease: -1}} {
		if _, err := work.NewWorker(o); err == nil {
			t.Errorf("NewWorker(%+v) did not fail", o)
		}
	}
}
