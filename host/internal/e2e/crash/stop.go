package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/parley-wasm/parley/host/internal/e2e"
	"github.com/parley-wasm/parley/host/internal/work"
)

const (
	maxActive   = 3                      // trials with an active process
	leaseMargin = time.Second            // added to a lease
	resumeTime  = 400 * time.Millisecond // for a continued process to do its next action
)

// stop runs trials for each point, in which the gateway process is stopped before or after
// the point, another process takes over the database, and the first one is continued.
// Normally the lock on the database prevents this; the trials cover a lock that fails or has
// no effect, as on a machine that slept or on a network file system.
//
// Each halt has two trials. In one, the stopped process is continued while its successor
// is working, and by its own clock still has its leases. In the other, the process is
// stopped for longer than its lease, and must then neither call the model nor post.
func (s *scenario) stop(ctx context.Context, points []string, r *e2e.Report) (want int, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	slots := make(chan struct{}, maxActive)
	for _, pastLease := range []bool{false, true} {
		halts := s.halts(points)
		if s.only == "" {
			// Omit the halt before the first commit: the process has not yet taken over
			// the database. nil stops the process while an agent runs.
			halts = append(halts[1:], nil)
		}
		for i, h := range halts {
			want++
			all.Go(func() {
				st := &stoppage{name: fmt.Sprintf("stop-%v-%d", pastLease, i), pastLease: pastLease, slots: slots}
				if st.duringAgent = h == nil; h != nil {
					st.halt = *h
				}
				if err := s.retry(ctx, r, st.name, "stopped "+st.String(), st.duringAgent, func(t *trial) (bool, error) { return st.run(ctx, t) }); err != nil {
					cancel(err)
				}
			})
		}
	}
	all.Wait()
	return want, context.Cause(ctx)
}

// stoppage defines how the first process of a trial is stopped.
type stoppage struct {
	name        string
	halt        halt
	duringAgent bool          // while an agent runs, instead of at a point
	pastLease   bool          // for longer than its lease
	slots       chan struct{} // limits the active trials
}

func (st *stoppage) String() string {
	where, when := st.halt.String(), "within its lease"
	if st.duringAgent {
		where = "while an agent was running"
	}
	if st.pastLease {
		when = "past its lease"
	}
	return where + ", continued " + when
}

// run runs the trial. It returns false if the first process was not stopped, or not
// continued in time.
func (st *stoppage) run(ctx context.Context, t *trial) (stopped bool, err error) {
	st.slots <- struct{}{}
	release := sync.OnceFunc(func() { <-st.slots })
	defer release()
	first, stopped, err := st.stopFirst(ctx, t)
	if err != nil || !stopped {
		return false, err
	}
	defer first.Kill() // no effect if it has ended
	until := time.Now().Add(work.DefaultLease + leaseMargin)
	t.Count(countStops, 1)
	before, err := t.state(ctx)
	if err != nil {
		return true, err
	}
	continued := true
	if st.pastLease {
		err = st.continueAfter(ctx, t, first, until, release)
	} else {
		continued, err = st.continueDuring(ctx, t, first)
	}
	if err != nil || !continued {
		return continued, err
	}
	return true, t.verify(ctx, before, !st.pastLease)
}

// continueAfter continues the first process at until, after its successor has ended. It
// releases the trial's slot before it waits. It does not wait for another slot, because
// first could then exceed its time limit.
func (st *stoppage) continueAfter(ctx context.Context, t *trial, first *e2e.Process, until time.Time, release func()) error {
	if err := t.finish(ctx, "second"); err != nil {
		return err
	}
	release()
	return errors.Join(e2e.Sleep(ctx, time.Until(until)), st.continueFirst(ctx, t, first))
}

// continueDuring continues the first process while its successor is stopped at its first
// execution of an agent, or after the successor has ended without one. It returns false if
// the successor was stopped for so long that it may have lost its own claims.
func (st *stoppage) continueDuring(ctx context.Context, t *trial, first *e2e.Process) (bool, error) {
	second, err := t.start(ctx, "second", halt{At: pointAgent, Stop: true})
	if err != nil {
		return true, err
	}
	stopped, err := second.Stopped()
	if err != nil {
		return true, err
	}
	since := time.Now()
	err = st.continueFirst(ctx, t, first)
	if !stopped || err != nil {
		return true, errors.Join(err, second.Kill())
	}
	if time.Since(since) > work.DefaultLease/2 && len(t.Problems()) == 0 {
		return false, second.Kill()
	}
	return true, errors.Join(second.Signal(syscall.SIGCONT), second.Finish())
}

// stopFirst starts a gateway process and blocks until it has stopped. It returns false if
// the process ended instead.
func (st *stoppage) stopFirst(ctx context.Context, t *trial) (p *e2e.Process, stopped bool, err error) {
	h := st.halt
	h.Stop, h.PastLease = true, st.pastLease
	if st.duringAgent {
		t.peers.Hold = make(chan struct{})
		defer close(t.peers.Hold) // the reply arrives while the process is stopped
	}
	if p, err = t.start(ctx, "first", h); err != nil {
		return nil, false, err
	}
	if st.duringAgent {
		if err := errors.Join(t.waitForAgent(ctx, p), p.Signal(syscall.SIGUSR1)); err != nil {
			return nil, false, err
		}
	}
	stopped, err = p.Stopped()
	return p, stopped, err
}

// continueFirst continues the stopped process and then ends it. It adds a problem if the
// process has changed anything.
func (st *stoppage) continueFirst(ctx context.Context, t *trial, first *e2e.Process) error {
	before, err := t.state(ctx)
	if err != nil {
		return err
	}
	if err := errors.Join(first.Signal(syscall.SIGCONT), e2e.Sleep(ctx, resumeTime)); err != nil {
		return err
	}
	if err := errors.Join(first.Signal(syscall.SIGTERM), first.Finish()); err != nil {
		t.Fail("after it was continued: %v", err)
	}
	after, err := t.state(ctx)
	if err != nil {
		return err
	}
	for _, line := range after.changes(before) {
		t.Fail("the stopped process changed a stored row: %s", line)
	}
	if st.pastLease && (after.requests != before.requests || after.arrived != before.arrived) {
		t.Fail("a process that was stopped past its lease called the model %d times and posted %d times", after.requests-before.requests, after.arrived-before.arrived)
	}
	return nil
}
