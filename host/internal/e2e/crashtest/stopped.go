package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/parley-wasm/parley/host/internal/work"
)

const (
	atOnce  = 3                      // exchanges that do something
	overdue = time.Second            // beyond a lease
	window  = 400 * time.Millisecond // in which a process that was continued does what it is about to do
)

// stop runs an exchange for each of the points, in which the gateway is stopped
// before or after it while another one takes the database over, and then
// continued. The lock on the database does not allow that. This is the case in
// which it fails, or does not reach: a machine that slept, a network's file system.
//
// Each point comes twice. In the first round the stopped process is continued
// while its successor is in mid-work, and as far as its own clock says still holds
// all that it held. In the second it has slept past its lease: it must not even
// ask or post.
func (s *scenario) stop(ctx context.Context, points []string, t *tally) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex // of t
	var all sync.WaitGroup
	turn := make(chan struct{}, atOnce)
	want := 0
	for _, asleep := range []bool{false, true} {
		orders := s.orders(points)
		if s.only == "" {
			// Until it has taken the database over it is nobody's predecessor.
			orders = append(orders[1:], nil)
		}
		for i, o := range orders {
			want++
			all.Go(func() {
				st := &stopped{scenario: s, name: fmt.Sprintf("stop-%v-%d", asleep, i), order: o, asleep: asleep, turn: turn}
				found, err := st.run(ctx)
				if err != nil {
					cancel(fmt.Errorf("stopped %s: %w", st, err))
				}
				mu.Lock()
				defer mu.Unlock()
				t.add(found)
			})
		}
	}
	all.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	t.halted(s, len(points), "stops", t.stops, want)
	return nil
}

// stopped is an exchange whose first gateway is stopped for a while.
type stopped struct {
	scenario *scenario
	name     string
	order    *order // nil: while its agent works
	asleep   bool
	turn     chan struct{}
}

func (st *stopped) String() string {
	where, when := "at work", "within its lease"
	if st.order != nil {
		where = st.order.String()
	}
	if st.asleep {
		when = "past its lease"
	}
	return where + ", continued " + when
}

func (st *stopped) run(ctx context.Context) (*tally, error) {
	t := &tally{}
	for range tries {
		e, err := st.scenario.begin(ctx, st.name, st.order == nil)
		if err != nil {
			return t, err
		}
		reached, err := st.exchange(ctx, e)
		if err = errors.Join(err, e.end()); err != nil || reached {
			t.merge(e, "stopped "+st.String())
			return t, err
		}
	}
	t.fail("%s: no process came to be stopped %s", st.scenario.name, st)
	return t, nil
}

func (st *stopped) exchange(ctx context.Context, e *exchange) (reached bool, err error) {
	st.turn <- struct{}{}
	defer func() { <-st.turn }()
	first, reached, err := st.stopFirst(ctx, e)
	if err != nil || !reached {
		return false, err
	}
	defer first.cancel()
	until := time.Now().Add(work.DefaultLease + overdue)
	e.stops++
	before, err := e.look(ctx)
	if err != nil {
		return true, err
	}
	order := &order{}
	if !st.asleep {
		order.at, order.stop = pointAgent, true
	}
	second, err := e.start(ctx, "second", order)
	if err != nil {
		return true, err
	}
	amid := false
	if st.asleep {
		err = second.finish()
	} else {
		amid, err = second.stopped()
	}
	if err != nil {
		return true, err
	}
	defer second.cancel()
	since := time.Now()
	if st.asleep {
		st.sleep(ctx, time.Until(until))
	}
	if err := st.continueFirst(ctx, e, first); err != nil {
		return true, err
	}
	// A successor that was stopped for so long may have lost its claim too.
	slow := amid && time.Since(since) > work.DefaultLease/2
	if slow || len(e.problems) > 0 {
		if amid {
			second.kill()
		}
		return len(e.problems) > 0, nil
	}
	if amid {
		if err := errors.Join(second.signal(syscall.SIGCONT), second.finish()); err != nil {
			return true, err
		}
	}
	return true, e.verify(ctx, before, !st.asleep)
}

// stopFirst starts a gateway and returns when it has stopped, or false when it has
// ended without.
func (st *stopped) stopFirst(ctx context.Context, e *exchange) (c *process, reached bool, err error) {
	o := &order{stop: true, asleep: st.asleep}
	if st.order != nil {
		o.at, o.after = st.order.at, st.order.after
	} else {
		e.outside.hold = make(chan struct{})
		defer close(e.outside.hold) // the answer finds a process that sleeps
	}
	if c, err = e.start(ctx, "first", o); err != nil {
		return nil, false, err
	}
	if st.order == nil {
		if err := errors.Join(e.atWork(ctx, c), c.signal(syscall.SIGUSR1)); err != nil {
			c.cancel()
			return nil, false, err
		}
	}
	reached, err = c.stopped()
	return c, reached, err
}

// continueFirst continues the gateway that was stopped, and fails when that
// changes anything.
func (st *stopped) continueFirst(ctx context.Context, e *exchange, first *process) error {
	before, err := e.look(ctx)
	if err != nil {
		return err
	}
	if err := first.signal(syscall.SIGCONT); err != nil {
		return err
	}
	select {
	case <-time.After(window):
	case <-ctx.Done():
	}
	if err := errors.Join(first.signal(syscall.SIGTERM), first.finish()); err != nil {
		e.fail("when it was continued, %v", err)
	}
	after, err := e.look(ctx)
	if err != nil {
		return err
	}
	for _, line := range after.changed(before) {
		e.fail("the gateway that was stopped changed what is stored: %s", line)
	}
	if st.asleep && (after.asked != before.asked || after.arrived != before.arrived) {
		e.fail("a gateway that had slept past its lease asked the model %d times and posted %d times", after.asked-before.asked, after.arrived-before.arrived)
	}
	return nil
}

// sleep lets others have the turn meanwhile.
func (st *stopped) sleep(ctx context.Context, d time.Duration) {
	<-st.turn
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	st.turn <- struct{}{}
}
