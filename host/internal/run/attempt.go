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

// attempt is one try at a run: its claim, and the agent that is executed under it.
type attempt struct {
	m      *Manager
	ticket *ticket
	claim  *work.Claim

	// What the claim found.
	run     *store.Run
	session *abi.Session
	caller  abi.Caller
	verdict *verdict // the run ends without its agent

	model string // that the agent is to use

	ctx  context.Context // of the agent; ends with the claim, at the deadline, by abort, when the host stops
	stop context.CancelCauseFunc

	// Guarded by Manager.mu.
	aborted bool
	waits   int            // tools that wait for something
	calls   map[string]int // by tool and digest; nil: no agent is executed
	token   *token
}

// lateAfter is when an agent that does not return is reported.
const lateAfter = 5 * time.Second

// attempt claims the run and brings it to its end, if it can. It reports whether
// the run has ended, and returns when its agent has.
func (m *Manager) attempt(t *ticket) (ended bool) {
	a := &attempt{m: m, ticket: t}
	m.mu.Lock()
	m.attempts[t.id] = a // from here on an abort finds it
	m.mu.Unlock()
	defer a.leave()
	var err error
	if a.claim, err = m.o.Worker.Claim(m.ctx, store.KindRun, t.id, a.begin); err != nil {
		if m.ctx.Err() == nil {
			m.o.Logger.Warn("run: cannot be claimed", "run", t.id, "error", err)
		}
		return false
	}
	if a.claim == nil {
		return m.hasEnded(t.id)
	}
	defer a.claim.Close()
	if a.run == nil { // there was nothing to do but to unschedule it
		return true
	}
	m.o.Logger.Debug("run: claimed", "run", t.id, "session", t.session, "attempt", a.run.Attempt)
	return a.perform()
}

// leave takes the attempt out of the manager.
func (a *attempt) leave() {
	a.m.mu.Lock()
	defer a.m.mu.Unlock()
	delete(a.m.attempts, a.ticket.id)
	a.silence()
}

// settled reports whether there is nothing to do for a run, which may be nil: it
// has ended, and so has its agent.
func settled(r *store.Run) bool { return r == nil || r.Ended() && len(r.Process) == 0 }

// hasEnded reports whether a run that could not be claimed needs none.
func (m *Manager) hasEnded(id string) (ended bool) {
	err := m.view(m.ctx, func(v store.View) error {
		r, err := v.Run(m.ctx, id)
		ended = err == nil && settled(r)
		return err
	})
	if err != nil && m.ctx.Err() == nil {
		m.o.Logger.Warn("run: cannot be read", "run", id, "error", err)
	}
	return ended
}

// perform executes the agent, if the run has not come to its end without it.
func (a *attempt) perform() (ended bool) {
	ag, err := a.m.o.Runners(a.run.AgentID)
	if len(a.run.Process) > 0 {
		err = cmp.Or(err, a.reap(ag))
	}
	switch {
	case a.claim.Err() != nil:
		a.abandon()
		return false
	case a.verdict != nil:
		return a.end(a.verdict, false)
	case err != nil:
		return a.end(&verdict{status: abi.RunFailed, reason: err.Error()}, false)
	}
	return a.execute(ag)
}

// reap ends what an earlier attempt left running, and forgets it.
func (a *attempt) reap(ag runner.Runner) error {
	r, ok := ag.(runner.Reaper)
	if !ok {
		a.m.o.Logger.Warn("run: its agent has changed; what an earlier attempt left running stays", "run", a.run.ID, "agent", a.run.AgentID, "left", string(a.run.Process))
		return nil
	}
	ctx, cancel := context.WithTimeout(a.claim.Context(), 30*time.Second)
	defer cancel()
	if err := r.Reap(ctx, a.run.Process); err != nil {
		a.m.o.Logger.Error("run: what an earlier attempt left running could not be ended", "run", a.run.ID, "left", string(a.run.Process), "error", err)
		return fmt.Errorf("interrupted: what an earlier attempt left running could not be ended: %w", err)
	}
	err := a.update(ctx, func(_ store.Tx, r *store.Run) error {
		r.Process = nil
		return nil
	})
	if err != nil { // it is done, and may be done again
		a.m.o.Logger.Warn("run: that an earlier attempt is ended cannot be stored", "run", a.run.ID, "error", err)
	}
	return nil
}

// answer is what an agent returned.
type answer struct {
	outcome *runner.Outcome
	err     error
}

// execute lets the agent answer. The outcome of a run that is over its time or
// aborted does not wait for an agent that goes on regardless; its lane does.
func (a *attempt) execute(ag runner.Runner) (ended bool) {
	cancel := a.arm()
	defer cancel()
	answered := make(chan answer, 1)
	turn := a.turn()
	go a.call(ag, turn, answered)

	var got *answer
	select {
	case an := <-answered:
		got = &an
	case <-a.ctx.Done():
	}
	if got == nil {
		if v := a.judge(nil); v != nil {
			ended = a.end(v, true)
			a.outlast(answered)
			return ended && a.release()
		}
		got = a.outlast(answered)
	}
	if v := a.judge(got); v != nil {
		return a.end(v, false)
	}
	a.abandon()
	return false
}

// arm makes the agent's context.
func (a *attempt) arm() (disarm func()) {
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

// call runs the agent. A panic is its failure.
func (a *attempt) call(ag runner.Runner, t *runner.Turn, answered chan<- answer) {
	an := answer{err: errors.New("the agent ended without an answer")}
	defer func() {
		if p := recover(); p != nil {
			a.m.o.Logger.Error("run: the agent panicked", "run", a.run.ID, "agent", a.run.AgentID, "panic", p, "stack", string(debug.Stack()))
			an = answer{err: fmt.Errorf("the agent panicked: %v", p)}
		}
		answered <- an
	}()
	if outcome, err := ag.Run(a.ctx, t); outcome != nil || err != nil {
		an = answer{outcome, err}
	}
}

// outlast waits for an agent whose context has ended.
func (a *attempt) outlast(answered <-chan answer) *answer {
	late := time.AfterFunc(lateAfter, func() {
		a.m.o.Logger.Warn("run: the agent does not end; its session waits for it", "run", a.run.ID, "session", a.run.SessionKey, "agent", a.run.AgentID)
	})
	defer late.Stop()
	an := <-answered
	return &an
}

// judge says how the run ends by the agent's answer, nil if there is none yet, or
// by the end of its context. nil: not at all, somebody else will go on.
func (a *attempt) judge(got *answer) *verdict {
	cause := context.Cause(a.ctx)
	if cause == nil {
		cause = a.claim.Err()
	}
	switch {
	case got != nil && got.err == nil:
		return &verdict{status: abi.RunDone, outcome: got.outcome, asked: a.model}
	case errors.Is(cause, errDeadline):
		return a.overtime()
	case errors.Is(cause, errAborted):
		return &verdict{status: abi.RunKilled}
	case cause != nil:
		return nil
	}
	return &verdict{status: abi.RunFailed, reason: got.err.Error()}
}

func (a *attempt) overtime() *verdict {
	return &verdict{status: abi.RunTimeout, reason: fmt.Sprintf("the run took longer than its limit of %s", limit(a.m.o.Config(), a.run))}
}

// abandon gives the run back, for its next attempt, unless it is lost already.
func (a *attempt) abandon() {
	if a.claim.Err() != nil {
		a.m.o.Logger.Warn("run: lost; nothing of this attempt is kept", "run", a.run.ID, "attempt", a.run.Attempt)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lateAfter)
	defer cancel()
	if err := a.claim.GiveBack(ctx, nil); err != nil {
		a.m.o.Logger.Warn("run: cannot be given back", "run", a.run.ID, "error", err)
	}
}

// update changes the run's row, if the attempt is still the newest.
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
