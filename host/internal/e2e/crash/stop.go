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
	atOnce  = 3                      // exchanges that do something
	overdue = time.Second            // beyond a lease
	window  = 400 * time.Millisecond // in which a continued process does what it was about to do
)

// stop runs an exchange for each of the points, in which the gateway process is stopped
// before or after it while another one takes the database over, and then continued. The
// lock on the database does not allow that. This is the case in which the lock fails, or does
// not reach: a machine that slept, a network file system.
//
// Each point comes twice. In the first round the stopped process is continued while its
// successor is at work, and by its own clock still holds everything that it held. In
// the second it was stopped past its lease: it must not even ask or post.
func (s *scenario) stop(ctx context.Context, points []string, r *e2e.Report) (want int, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	turn := make(chan struct{}, atOnce)
	for _, pastLease := range []bool{false, true} {
		halts := s.halts(points)
		if s.only == "" {
			// A process has no successor until it has taken the database over itself.
			halts = append(halts[1:], nil)
		}
		for i, h := range halts {
			want++
			all.Go(func() {
				st := &stoppage{name: fmt.Sprintf("stop-%v-%d", pastLease, i), pastLease: pastLease, turn: turn}
				if st.atWork = h == nil; h != nil {
					st.halt = *h
				}
				if err := s.disturb(ctx, r, st.name, "stopped "+st.String(), st.atWork, func(e *exchange) (bool, error) { return st.run(ctx, e) }); err != nil {
					cancel(err)
				}
			})
		}
	}
	all.Wait()
	return want, context.Cause(ctx)
}

// stoppage is how the first process of an exchange is stopped.
type stoppage struct {
	name      string
	halt      halt
	atWork    bool // while its agent works, in place of a point
	pastLease bool // until its lease has ended
	turn      chan struct{}
}

func (st *stoppage) String() string {
	where, when := st.halt.String(), "within its lease"
	if st.atWork {
		where = "at work"
	}
	if st.pastLease {
		when = "past its lease"
	}
	return where + ", continued " + when
}

// run reports whether the first process was stopped, and continued in time.
func (st *stoppage) run(ctx context.Context, e *exchange) (stopped bool, err error) {
	st.turn <- struct{}{}
	endTurn := sync.OnceFunc(func() { <-st.turn })
	defer endTurn()
	first, stopped, err := st.stopFirst(ctx, e)
	if err != nil || !stopped {
		return false, err
	}
	defer first.Kill() // unless it has ended
	until := time.Now().Add(work.DefaultLease + overdue)
	e.Count(countStops, 1)
	before, err := e.state(ctx)
	if err != nil {
		return true, err
	}
	continued := true
	if st.pastLease {
		err = st.continueAfter(ctx, e, first, until, endTurn)
	} else {
		continued, err = st.continueAmid(ctx, e, first)
	}
	if err != nil || !continued {
		return continued, err
	}
	return true, e.verify(ctx, before, !st.pastLease)
}

// continueAfter continues the first process when its successor is done. Meanwhile it lets
// another exchange have the turn, and does not wait for a new one: first must not exceed
// its limit.
func (st *stoppage) continueAfter(ctx context.Context, e *exchange, first *e2e.Process, until time.Time, endTurn func()) error {
	if err := e.finish(ctx, "second"); err != nil {
		return err
	}
	endTurn()
	return errors.Join(e2e.Sleep(ctx, time.Until(until)), st.continueFirst(ctx, e, first))
}

// continueAmid continues the first process while its successor is stopped at its first
// execution of an agent, if it has one. It returns false when the successor was stopped
// for so long that it may have lost its claim too.
func (st *stoppage) continueAmid(ctx context.Context, e *exchange, first *e2e.Process) (bool, error) {
	second, err := e.start(ctx, "second", halt{At: pointAgent, Stop: true})
	if err != nil {
		return true, err
	}
	amid, err := second.Stopped()
	if err != nil {
		return true, err
	}
	since := time.Now()
	err = st.continueFirst(ctx, e, first)
	if !amid || err != nil {
		return true, errors.Join(err, second.Kill())
	}
	if time.Since(since) > work.DefaultLease/2 && len(e.Problems()) == 0 {
		return false, second.Kill()
	}
	return true, errors.Join(second.Signal(syscall.SIGCONT), second.Finish())
}

// stopFirst starts a gateway process and returns when it has stopped, or false when it has
// ended without.
func (st *stoppage) stopFirst(ctx context.Context, e *exchange) (p *e2e.Process, stopped bool, err error) {
	h := st.halt
	h.Stop, h.PastLease = true, st.pastLease
	if st.atWork {
		e.peers.Hold = make(chan struct{})
		defer close(e.peers.Hold) // the answer arrives at a stopped process
	}
	if p, err = e.start(ctx, "first", h); err != nil {
		return nil, false, err
	}
	if st.atWork {
		if err := errors.Join(e.agentAtWork(ctx, p), p.Signal(syscall.SIGUSR1)); err != nil {
			return nil, false, err
		}
	}
	stopped, err = p.Stopped()
	return p, stopped, err
}

// continueFirst continues the process that was stopped, and fails when that changes
// anything.
func (st *stoppage) continueFirst(ctx context.Context, e *exchange, first *e2e.Process) error {
	before, err := e.state(ctx)
	if err != nil {
		return err
	}
	if err := errors.Join(first.Signal(syscall.SIGCONT), e2e.Sleep(ctx, window)); err != nil {
		return err
	}
	if err := errors.Join(first.Signal(syscall.SIGTERM), first.Finish()); err != nil {
		e.Fail("when it was continued, %v", err)
	}
	after, err := e.state(ctx)
	if err != nil {
		return err
	}
	for _, line := range after.changes(before) {
		e.Fail("the process that was stopped changed what is stored: %s", line)
	}
	if st.pastLease && (after.asked != before.asked || after.arrived != before.arrived) {
		e.Fail("a process that was stopped past its lease asked the model %d times and posted %d times", after.asked-before.asked, after.arrived-before.arrived)
	}
	return nil
}
