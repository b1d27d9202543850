package step

import (
	"context"
	"slices"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

// tidyEffect archives a child, or deletes it.
type tidyEffect struct {
	key     string
	deletes bool
	at      int64
}

func (f *functions) tidy(ctx context.Context, r *request) ([]byte, error) {
	name := r.family + "." + r.op
	e := &tidyEffect{deletes: r.op == abi.OpDelete, at: f.flow.Now}
	var err error
	if e.key, err = r.tidy(); err != nil {
		return nil, err
	}
	if _, err := f.peek(ctx); err != nil {
		return nil, err
	}
	s, err := f.work.Get(ctx, e.key)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(f.flow.Created, e.key) {
		return nil, abi.NewError(abi.Forbidden, name+": session "+e.key+" is no child that this flow has created")
	}
	busy, err := f.work.Busy(ctx, e.key)
	if err != nil {
		return nil, err
	}
	if refusal := e.refuse(s, busy); refusal != nil {
		return nil, refusal
	}
	f.effects = append(f.effects, e)
	return abi.AppendDoneReply(nil), nil
}

// refuse says why the session cannot go now, or returns nil. What is queued in it
// was accepted.
func (e *tidyEffect) refuse(s *abi.Session, busy bool) error {
	switch {
	case s == nil:
		return abi.NewError(abi.NotFound, "session "+e.key+" does not exist")
	case busy:
		return abi.NewError(abi.Conflict, "a run of session "+e.key+" has not ended")
	}
	return nil
}

func (e *tidyEffect) apply(tx store.Tx) error {
	s, err := tx.Session(e.key)
	if err != nil {
		return err
	}
	busy, err := tx.Busy(e.key)
	if err != nil {
		return err
	}
	if refusal := e.refuse(s, busy); refusal != nil {
		return &abi.Error{Code: abi.Conflict, Message: "step: " + refusal.Error(), Cause: refusal}
	}
	if e.deletes {
		return tx.DeleteSession(e.key)
	}
	if s.ArchivedAt == 0 {
		s.ArchivedAt = e.at
	}
	return tx.PutSession(s)
}
