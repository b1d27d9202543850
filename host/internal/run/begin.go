package run

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/internal/message"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/store"
)

// begin runs in the transaction of the claim. It starts the run or its next attempt,
// or sets the result of a run that must not be executed.
func (a *attempt) begin(tx store.Tx) error {
	a.run, a.result = nil, nil
	r, err := tx.Run(a.ticket.id)
	switch {
	case err != nil:
		return err
	case settled(r):
		return tx.Unschedule(store.KindRun, a.ticket.id)
	}
	s, err := tx.Session(r.SessionKey)
	if err != nil {
		return err
	}
	c, now := a.m.o.Config(), a.m.o.Now()
	a.run, a.session = r, s
	if a.result = a.terminal(c, now); a.result != nil {
		return nil
	}
	a.caller, a.model = callerOf(c, r, s), modelOf(c, r, s)
	r.Attempt++
	a.caller.Attempt = r.Attempt
	if r.Status == abi.RunQueued {
		r.Status, r.StartedAt = abi.RunRunning, now.UnixMilli()
		if err := tx.Append(s.Key, userMessage(r)); err != nil {
			return err
		}
		if s.UpdatedAt = r.StartedAt; !r.Announces() {
			s.Status = abi.RunRunning
		}
		if err := tx.PutSession(s); err != nil {
			return err
		}
	}
	return tx.PutRun(r)
}

// terminal returns the result of a run that must not be executed (again), or nil.
func (a *attempt) terminal(c *config.Config, now time.Time) *result {
	r, s := a.run, a.session
	failed := func(format string, args ...any) *result {
		return &result{status: abi.RunFailed, reason: fmt.Sprintf(format, args...)}
	}
	kept := a.ticket.unsaved
	started := r.Status == abi.RunRunning
	switch {
	case r.Ended(): // only its processes are left to reap
		return &result{status: r.Status, reason: r.Error}
	case started && kept != nil && kept.attempt == r.Attempt:
		return kept.result // no later attempt was made
	case r.Abort != "":
		return &result{status: abi.RunKilled}
	case s == nil:
		return failed("session %s was deleted before its turn", r.SessionKey)
	case s.ArchivedAt != 0:
		return failed("session %s was archived before its turn", r.SessionKey)
	case !started:
		return nil
	case limit(c, r) > 0 && !now.Before(time.UnixMilli(r.StartedAt).Add(limit(c, r))):
		return a.timedOut()
	case r.Attempt >= c.Runs.MaxAttempts:
		return failed("interrupted: the host ended during attempt %d of at most %d", r.Attempt, c.Runs.MaxAttempts)
	}
	return nil
}

// userMessage returns the message that a run answers.
func userMessage(r *store.Run) *store.Message {
	o := jsonappend.Open(nil)
	o.String("role", roleUser)
	o.Value(appendText(o.Key("content"), r.Message))
	o.Int("timestamp", r.StartedAt)
	o.OptRaw("provenance", r.Provenance)
	return &store.Message{Role: roleUser, At: r.StartedAt, JSON: o.Close(), RunID: r.ID}
}

const (
	roleUser      = "user"
	roleAssistant = "assistant"
)

// appendText appends message content that consists of one text.
func appendText(b []byte, text string) []byte {
	o := jsonappend.Open(append(b, '['))
	o.String("type", "text")
	o.String("text", text)
	return append(o.Close(), ']')
}

// turn returns the input of the runner.
func (a *attempt) turn() *runner.Turn {
	t := &runner.Turn{
		RunID: a.run.ID, Attempt: a.run.Attempt,
		SessionKey: a.run.SessionKey, SessionID: a.session.SessionID, AgentID: a.run.AgentID,
		Model:    a.model,
		Thinking: cmp.Or(a.run.Thinking, a.session.ThinkingLevel),
		Message:  a.run.Message, Context: a.run.Context,
		Sandboxed:  a.caller.Sandboxed,
		Transcript: &transcript{a},
		Leave:      a.remember,
	}
	if tools := a.tools(); tools != nil {
		t.Tools = tools
	}
	return t
}

// errNotFound returns the error for a run that is not stored.
func errNotFound(id string) error {
	return abi.NewError(abi.NotFound, fmt.Sprintf("there is no run %q", id))
}

// normalize returns a message in its stored form.
func normalize(raw []byte) ([]byte, error) {
	doc, _, err := message.Normalize(raw)
	if err != nil {
		return nil, fmt.Errorf("run: a message cannot be stored: %w", err)
	}
	return doc, nil
}

var errNoSession = errors.New("run: the session has been deleted")
