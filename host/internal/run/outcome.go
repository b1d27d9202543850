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

// verdict is how a run ends.
type verdict struct {
	status  string          // one of the final states of abi.Run
	reason  string          // unless it is done
	outcome *runner.Outcome // if it is done
	asked   string          // the model that it was to use
}

// unsaved is a verdict that could not be stored before the claim was lost. It
// holds as long as nobody has made another attempt.
type unsaved struct {
	attempt int
	verdict *verdict
}

// end commits the outcome, with which the claim ends. What the store refuses is
// tried again until it is stored, the claim is lost, or the host stops; it reports
// whether it is stored. running says that the agent has not returned.
func (a *attempt) end(v *verdict, running bool) (ended bool) {
	for failures := 1; ; failures++ {
		err := a.claim.GiveBack(context.Background(), func(tx store.Tx) error { return a.m.finish(tx, a.run.ID, v, running) })
		var refused *abi.Error
		switch {
		case err == nil:
			a.m.watch.Tell(a.run.ID)
			a.m.o.Logger.Debug("run: ended", "run", a.run.ID, "status", v.status, "reason", v.reason)
			return true
		case a.claim.Err() != nil:
			a.m.o.Logger.Warn("run: lost before its outcome was stored", "run", a.run.ID, "attempt", a.run.Attempt)
			a.ticket.unsaved = &unsaved{a.run.Attempt, v}
			return false
		case errors.As(err, &refused) && v.outcome != nil:
			v = &verdict{status: abi.RunFailed, reason: "the answer cannot be stored: " + refused.Error()}
			continue
		}
		a.m.o.Logger.Error("run: its outcome cannot be stored; it will be tried again", "run", a.run.ID, "failures", failures, "error", err)
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

// release forgets what the agent of a run that had ended before has left: it has
// returned. What the store refuses is left to another attempt, which reaps.
func (a *attempt) release() (released bool) {
	ctx, cancel := context.WithTimeout(context.Background(), lateAfter)
	defer cancel()
	err := a.m.o.Store.Update(ctx, func(tx store.Tx) error { return a.m.finish(tx, a.run.ID, nil, false) })
	if err != nil {
		a.m.o.Logger.Warn("run: that its agent has returned cannot be stored", "run", a.run.ID, "error", err)
	}
	return err == nil
}

// finish writes how a run has ended, if it has not before, and that it is no work
// any more. While its agent runs on and would leave something behind, it stays
// scheduled with that: if this host dies, whoever claims it finds what to reap.
func (m *Manager) finish(tx store.Tx, id string, v *verdict, running bool) error {
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

// conclude makes r a run that has ended, and writes what follows from that: the
// answer in the transcript, the session's state, the delivery, and that the flows
// that wait for it are due.
func (m *Manager) conclude(tx store.Tx, r *store.Run, v *verdict) error {
	if r.Abort != "" { // accepted, whatever the agent has made of it
		v = &verdict{status: abi.RunKilled, reason: r.Abort}
	}
	r.Status, r.Error, r.EndedAt = v.status, v.reason, m.millis()
	if o := v.outcome; o != nil {
		r.Reply = strings.TrimSpace(strings.ToValidUTF8(o.Text, "\uFFFD"))
		r.UsedModel = o.Model
		r.Usage = priced(m.o.Config(), cmp.Or(o.Model, v.asked), o.Usage)
	}
	if r.StartedAt != 0 || r.Group == abi.GroupSubagent { // what a child is follows from its own run, even one that never began
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

// record makes a run's outcome part of its session, if that still is. What the
// session is known by stays that of its conversation when the run was an announce,
// which is about what came before: a child that was killed stays killed (S5.5).
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

// assistantMessage is the answer of a run.
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

// delivery is the reply on its way to the session's channel. Its id is the same
// whenever the outcome is committed.
func (m *Manager) delivery(r *store.Run) *store.Delivery {
	return &store.Delivery{
		ID: store.DeriveID(m.o.Store.Secret(), "d_", "delivery of run", r.ID), SessionKey: r.SessionKey, RunID: r.ID, FlowID: r.FlowID, Text: r.Reply,
		Status: store.DeliveryPending, CreatedAt: r.EndedAt, UpdatedAt: r.EndedAt,
	}
}
