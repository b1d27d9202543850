package step

import (
	"context"
	"slices"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

// removeEffect archives or deletes a child.
type removeEffect struct {
	key     string
	deletes bool
	at      int64
}

func (f *functions) remove(ctx context.Context, r *request) ([]byte, error) {
	name := r.namespace + "." + r.op
	e := &removeEffect{deletes: r.op == abi.OpDelete, at: f.flow.Now}
	var err error
	if e.key, err = r.remove(); err != nil {
		return nil, err
	}
	if _, err := f.openSnapshot(ctx); err != nil {
		return nil, err
	}
	s, err := f.durable.Get(ctx, e.key)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(f.flow.Created, e.key) {
		return nil, abi.NewError(abi.Forbidden, name+": session "+e.key+" is not a child created by this flow")
	}
	busy, err := f.durable.Busy(ctx, e.key)
	if err != nil {
		return nil, err
	}
	if refusal := e.refuse(s, busy); refusal != nil {
		return nil, refusal
	}
	f.effects = append(f.effects, e)
	return abi.AppendDoneReply(nil), nil
}

// refuse returns why the session cannot be removed now, or nil. A session with runs
// that have not ended is not removed: they were accepted and must be executed.
func (e *removeEffect) refuse(s *abi.Session, busy bool) error {
	switch {
	case s == nil:
		return abi.NewError(abi.NotFound, "session "+e.key+" does not exist")
	case busy:
		return abi.NewError(abi.Conflict, "a run of session "+e.key+" has not ended")
	}
	return nil
}

func (e *removeEffect) apply(tx store.Tx) error {
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
