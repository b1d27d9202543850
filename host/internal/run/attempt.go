package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/work"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/store"
)

// attempt is one attempt to execute a run: the claim, and the runner that executes
// the run under that claim.
type attempt struct {
	m      *Manager
	ticket *ticket
	claim  *work.Claim

	// Read in the transaction of the claim.
	run     *store.Run
	session *abi.Session
	caller  abi.Caller
	result  *result // nil: call the runner; otherwise the run ends with this result

	model string // the model that the runner must use

	ctx  context.Context // for the runner; ends with the claim, at the deadline, by an abort, or when the host stops
	stop context.CancelCauseFunc

	// Guarded by Manager.mu.
	aborted bool
	waits   int            // number of tool calls that are waiting
	calls   map[string]int // number of tool calls by tool and argument digest; nil: no runner is active
	token   *token
}

// lateAfter is the time that a runner has to return after the end of its context; then
// a warning is logged. It is also the timeout of an attempt's final writes.
const lateAfter = 5 * time.Second

// attempt claims the run and executes it. It returns when the runner has returned,
// and reports whether the run has ended.
func (m *Manager) attempt(t *ticket) (ended bool) {
	a := &attempt{m: m, ticket: t}
	m.mu.Lock()
	m.attempts[t.id] = a // visible to Abort from here on
	m.mu.Unlock()
	defer a.unregister()
	var err error
	if a.claim, err = m.o.Worker.Claim(m.ctx, store.KindRun, t.id, a.begin); err != nil {
		if m.ctx.Err() == nil {
			m.o.Logger.Warn("run: claim failed", "run", t.id, "error", err)
		}
		return false
	}
	if a.claim == nil {
		return m.isSettled(t.id)
	}
	defer a.claim.Close()
	if a.run == nil { // begin found the run settled and unscheduled it
		return true
	}
	m.o.Logger.Debug("run: claimed", "run", t.id, "session", t.session, "attempt", a.run.Attempt)
	return a.perform()
}

// unregister removes the attempt from the manager.
func (a *attempt) unregister() {
	a.m.mu.Lock()
	defer a.m.mu.Unlock()
	delete(a.m.attempts, a.ticket.id)
	a.revoke()
}

// settled reports whether nothing is left to do for a run: it does not exist (r is
// nil), or it has ended and no process of it is recorded.
func settled(r *store.Run) bool { return r == nil || r.Ended() && len(r.Process) == 0 }

// isSettled reads a run that could not be claimed and reports whether it is settled.
func (m *Manager) isSettled(id string) (is bool) {
	err := m.view(m.ctx, func(v store.View) error {
		r, err := v.Run(m.ctx, id)
		is = err == nil && settled(r)
		return err
	})
	if err != nil && m.ctx.Err() == nil {
		m.o.Logger.Warn("run: read failed", "run", id, "error", err)
	}
	return is
}

// perform executes the run with its runner, unless the run ends without one.
func (a *attempt) perform() (ended bool) {
	rn, err := a.m.o.Runners(a.run.AgentID)
	if len(a.run.Process) > 0 {
		err = cmp.Or(err, a.reap(rn))
	}
	switch {
	case a.claim.Err() != nil:
		a.abandon()
		return false
	case a.result != nil:
		return a.end(a.result, false)
	case err != nil:
		return a.end(&result{status: abi.RunFailed, reason: err.Error()}, false)
	}
	return a.execute(rn)
}

// reap ends the processes of an earlier attempt and deletes their record.
func (a *attempt) reap(rn runner.Runner) error {
	r, ok := rn.(runner.Reaper)
	if !ok {
		a.m.o.Logger.Warn("run: the agent's runner cannot end the processes of an earlier attempt; they may still be running", "run", a.run.ID, "agent", a.run.AgentID, "left", string(a.run.Process))
		return nil
	}
	ctx, cancel := context.WithTimeout(a.claim.Context(), 30*time.Second)
	defer cancel()
	if err := r.Reap(ctx, a.run.Process); err != nil {
		a.m.o.Logger.Error("run: processes of an earlier attempt could not be ended", "run", a.run.ID, "left", string(a.run.Process), "error", err)
		return fmt.Errorf("interrupted: processes of an earlier attempt could not be ended: %w", err)
	}
	err := a.update(ctx, func(_ store.Tx, r *store.Run) error {
		r.Process = nil
		return nil
	})
	if err != nil { // harmless: reaping again has no effect
		a.m.o.Logger.Warn("run: the record of an earlier attempt's processes cannot be deleted", "run", a.run.ID, "error", err)
	}
	return nil
}

// answer is the return value of a runner.
type answer struct {
	outcome *runner.Outcome
	err     error
}

// execute calls the runner and ends the run with its answer. After an abort or at the
// deadline the run ends at once, even if the runner ignores its context; the
// session's lane stays taken until the runner has returned.
func (a *attempt) execute(rn runner.Runner) (ended bool) {
	cancel := a.startContext()
	defer cancel()
	answered := make(chan answer, 1)
	turn := a.turn()
	go a.call(rn, turn, answered)

	var got *answer
	select {
	case an := <-answered:
		got = &an
	case <-a.ctx.Done():
	}
	if got == nil {
		if v := a.resultOf(nil); v != nil {
			ended = a.end(v, true)
			a.awaitRunner(answered)
			return ended && a.deleteProcess()
		}
		got = a.awaitRunner(answered)
	}
	if v := a.resultOf(got); v != nil {
		return a.end(v, false)
	}
	a.abandon()
	return false
}

// startContext sets the runner's context and returns a function that releases it.
func (a *attempt) startContext() (release func()) {
	ctx, stop := context.WithCancelCause(a.claim.Context())
	unlink := context.AfterFunc(a.m.ctx, func() { stop(context.Cause(a.m.ctx)) })
	end := func() {}
	if l := limit(a.m.o.Config(), a.run); l > 0 {
		left := time.UnixMilli(a.run.StartedAt).Add(l).Sub(a.m.o.Now())
		ctx, end = context.WithTimeoutCause(ctx, left, errDeadline)
	}
	a.m.mu.Lock()
	defer a.m.mu.Unlock()
	a.ctx, a.stop, a.calls = ctx, stop, map[string]int{}
	if a.aborted {
		stop(errAborted)
	}
	return func() {
		unlink()
		end()
		stop(nil)
	}
}

// call calls the runner. If the runner panics, the run fails.
func (a *attempt) call(rn runner.Runner, t *runner.Turn, answered chan<- answer) {
	an := answer{err: errors.New("the runner returned no answer")}
	defer func() {
		if p := recover(); p != nil {
			a.m.o.Logger.Error("run: the runner panicked", "run", a.run.ID, "agent", a.run.AgentID, "panic", p, "stack", string(debug.Stack()))
			an = answer{err: fmt.Errorf("the runner panicked: %v", p)}
		}
		answered <- an
	}()
	if outcome, err := rn.Run(a.ctx, t); outcome != nil || err != nil {
		an = answer{outcome, err}
	}
}

// awaitRunner returns the answer of a runner whose context has ended. It waits for as
// long as the runner takes.
func (a *attempt) awaitRunner(answered <-chan answer) *answer {
	late := time.AfterFunc(lateAfter, func() {
		a.m.o.Logger.Warn("run: the runner does not return; its session is blocked until it does", "run", a.run.ID, "session", a.run.SessionKey, "agent", a.run.AgentID)
	})
	defer late.Stop()
	an := <-answered
	return &an
}

// resultOf derives the result of the run from the runner's answer (nil: no answer yet)
// and the cause with which the context ended. It returns nil if this attempt does not
// end the run.
func (a *attempt) resultOf(got *answer) *result {
	cause := context.Cause(a.ctx)
	if cause == nil {
		cause = a.claim.Err()
	}
	switch {
	case got != nil && got.err == nil:
		return &result{status: abi.RunDone, outcome: got.outcome, asked: a.model}
	case errors.Is(cause, errDeadline):
		return a.timedOut()
	case errors.Is(cause, errAborted):
		return &result{status: abi.RunKilled}
	case cause != nil:
		return nil
	}
	return &result{status: abi.RunFailed, reason: got.err.Error()}
}

func (a *attempt) timedOut() *result {
	return &result{status: abi.RunTimeout, reason: fmt.Sprintf("the run took longer than its limit of %s", limit(a.m.o.Config(), a.run))}
}

// abandon releases the claim for the next attempt, unless the claim is lost.
func (a *attempt) abandon() {
	if a.claim.Err() != nil {
		a.m.o.Logger.Warn("run: claim lost; the attempt is discarded", "run", a.run.ID, "attempt", a.run.Attempt)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lateAfter)
	defer cancel()
	if err := a.claim.GiveBack(ctx, nil); err != nil {
		a.m.o.Logger.Warn("run: claim cannot be released", "run", a.run.ID, "error", err)
	}
}

// update changes the run's row, if the claim is the newest.
func (a *attempt) update(ctx context.Context, fn func(store.Tx, *store.Run) error) error {
	return a.claim.Update(ctx, func(tx store.Tx) error {
		r, err := tx.Run(a.run.ID)
		if err != nil {
			return err
		}
		if err := fn(tx, r); err != nil {
			return err
		}
		return tx.PutRun(r)
	})
}
