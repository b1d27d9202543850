package run

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/host/internal/work"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/store"
)

// result is the result of a run.
type result struct {
	status  string          // final status; see abi.Run
	reason  string          // error text; empty if done
	outcome *runner.Outcome // only if done
	asked   string          // the model that the runner had to use
}

// unsaved is a result that could not be stored before the claim was lost. It is valid
// until another attempt is made.
type unsaved struct {
	attempt int
	result  *result
}

// end commits the result and releases the claim. If the store fails, end retries until
// the result is stored, the claim is lost, or the host stops. It reports whether the
// result is stored. running means that the runner has not returned.
func (a *attempt) end(v *result, running bool) (ended bool) {
	for failures := 1; ; failures++ {
		err := a.claim.GiveBack(context.Background(), func(tx store.Tx) error { return a.m.finish(tx, a.run.ID, v, running) })
		var refused *abi.Error
		switch {
		case err == nil:
			a.m.watch.Notify(a.run.ID)
			a.m.o.Logger.Debug("run: ended", "run", a.run.ID, "status", v.status, "reason", v.reason)
			return true
		case a.claim.Err() != nil:
			a.m.o.Logger.Warn("run: claim lost before the outcome was stored", "run", a.run.ID, "attempt", a.run.Attempt)
			a.ticket.unsaved = &unsaved{a.run.Attempt, v}
			return false
		case errors.As(err, &refused) && v.outcome != nil:
			v = &result{status: abi.RunFailed, reason: "the answer cannot be stored: " + refused.Error()}
			continue
		}
		a.m.o.Logger.Error("run: the outcome cannot be stored; it will be retried", "run", a.run.ID, "failures", failures, "error", err)
		again := time.NewTimer(work.Backoff(failures))
		select {
		case <-again.C:
		case <-a.claim.Context().Done():
		case <-a.m.ctx.Done():
			again.Stop()
			return false
		}
		again.Stop()
	}
}

// deleteProcess deletes the record of the processes of a run that had ended before its
// runner returned. If the store fails, a later claim of the run reaps them.
func (a *attempt) deleteProcess() (deleted bool) {
	ctx, cancel := context.WithTimeout(context.Background(), lateAfter)
	defer cancel()
	err := a.m.o.Store.Update(ctx, func(tx store.Tx) error { return a.m.finish(tx, a.run.ID, nil, false) })
	if err != nil {
		a.m.o.Logger.Warn("run: the record of the runner's processes cannot be deleted", "run", a.run.ID, "error", err)
	}
	return err == nil
}

// finish ends the run with v, unless it has already ended, and unschedules it. If the
// runner has not returned (running) and has recorded a process, the run stays
// scheduled: if this host dies, the next host claims the run and reaps the process.
func (m *Manager) finish(tx store.Tx, id string, v *result, running bool) error {
	r, err := tx.Run(id)
	if err != nil || r == nil {
		return err
	}
	if !r.Ended() {
		if err := m.conclude(tx, r, v); err != nil {
			return err
		}
	}
	if !running {
		r.Process = nil
	}
	if err := tx.PutRun(r); err != nil || len(r.Process) > 0 {
		return err
	}
	return tx.Unschedule(store.KindRun, id)
}

// conclude ends r and writes what follows: the answer in the transcript, the
// session's status, the delivery, and the scheduling of the flows that wait for r.
func (m *Manager) conclude(tx store.Tx, r *store.Run, v *result) error {
	if r.Abort != "" { // an accepted abort takes precedence over the answer
		v = &result{status: abi.RunKilled, reason: r.Abort}
	}
	r.Status, r.Error, r.EndedAt = v.status, v.reason, m.millis()
	if o := v.outcome; o != nil {
		r.Reply = strings.TrimSpace(strings.ToValidUTF8(o.Text, "\uFFFD"))
		r.UsedModel = o.Model
		r.Usage = withCost(m.o.Config(), cmp.Or(o.Model, v.asked), o.Usage)
	}
	if r.StartedAt != 0 || r.Group == abi.GroupSubagent { // a child's first run sets the child's status, even if the run never began
		if err := record(tx, r); err != nil {
			return err
		}
	}
	if r.Deliver && r.Reply != "" {
		if err := work.QueueDelivery(tx, m.delivery(r)); err != nil {
			return err
		}
	}
	return work.WakeFlows(tx, r)
}

// record writes a run's outcome to its session, if the session exists. An announce run
// (store.Run.Announces) does not change the session's status, model or counters, which
// describe the preceding conversation: a child that was killed stays killed (S5.5).
func record(tx store.Tx, r *store.Run) error {
	s, err := tx.Session(r.SessionKey)
	if err != nil || s == nil {
		return err
	}
	if r.Reply != "" {
		if err := tx.Append(s.Key, assistantMessage(r)); err != nil {
			return err
		}
	}
	s.UpdatedAt = r.EndedAt
	if r.Announces() {
		return tx.PutSession(s)
	}
	aborted := r.Status == abi.RunKilled || r.Status == abi.RunTimeout
	s.Status, s.AbortedLastRun = r.Status, &aborted
	s.Model = cmp.Or(r.UsedModel, s.Model)
	if r.Usage != nil {
		if t := total(r.Usage); t != nil {
			s.TotalTokens = t
		}
		if r.Usage.Input != nil {
			s.ContextTokens = r.Usage.Input
		}
	}
	return tx.PutSession(s)
}

// assistantMessage returns the message with the answer of a run.
func assistantMessage(r *store.Run) *store.Message {
	o := jsonappend.Open(nil)
	o.String("role", roleAssistant)
	o.Value(appendText(o.Key("content"), r.Reply))
	o.Int("timestamp", r.EndedAt)
	o.OptString("model", r.UsedModel)
	if u := r.Usage; u != nil {
		uo := jsonappend.Open(o.Key("usage"))
		for _, count := range []struct {
			name string
			v    *int64
		}{{"input", u.Input}, {"output", u.Output}, {"totalTokens", total(u)}} {
			if count.v != nil {
				uo.Int(count.name, *count.v)
			}
		}
		o.Value(uo.Close())
	}
	o.String("stopReason", "stop")
	return &store.Message{Role: roleAssistant, At: r.EndedAt, JSON: o.Close(), RunID: r.ID}
}

// delivery returns the delivery of the reply to the session's channel. Its id depends
// only on the run, so a repeated commit queues the same delivery.
func (m *Manager) delivery(r *store.Run) *store.Delivery {
	return &store.Delivery{
		ID: store.DeriveID(m.o.Store.Secret(), "d_", "delivery of run", r.ID), SessionKey: r.SessionKey, RunID: r.ID, FlowID: r.FlowID, Text: r.Reply,
		Status: store.DeliveryPending, CreatedAt: r.EndedAt, UpdatedAt: r.EndedAt,
	}
}
