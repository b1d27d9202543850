package step

import (
	"context"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/policy"
	"github.com/parley-wasm/parley/host/internal/work"
	"github.com/parley-wasm/parley/host/store"
)

// sendEffect queues a delivery.
type sendEffect struct {
	delivery store.Delivery
	deliver  func(*abi.Session, abi.Target) error // nil: delivery policy is checked when the text is posted
}

func (f *functions) send(ctx context.Context, r *request) ([]byte, error) {
	q, err := r.send()
	if err != nil {
		return nil, err
	}
	if !f.isParticipant(q.SessionKey) {
		return nil, abi.NewError(abi.Forbidden, "deliver.send: session "+q.SessionKey+" takes no part in this flow")
	}
	e := &sendEffect{delivery: store.Delivery{
		ID: f.newID("d_"), SessionKey: q.SessionKey, RunID: q.RunID, FlowID: f.flow.ID, Text: q.Text,
		Status: store.DeliveryPending, CreatedAt: f.flow.Now, UpdatedAt: f.flow.Now,
	}}
	if q.AtCall {
		if err := f.atCall(ctx, e); err != nil {
			return nil, err
		}
	}
	f.effects = append(f.effects, e)
	return abi.AppendReply(nil, &abi.SendReply{DeliveryID: e.delivery.ID}), nil
}

// atCall sets the delivery's target to the target that the caller's session had at the
// call. Because the target is known, delivery policy is checked during the step, and
// the plugin can handle a refusal.
func (f *functions) atCall(ctx context.Context, e *sendEffect) error {
	c, d := f.flow.Caller, &e.delivery
	d.Target = abi.Target{Channel: c.Channel, To: c.To, AccountID: c.AccountID, ThreadID: c.ThreadID}
	if d.SessionKey != c.SessionKey || !policy.Deliverable(d.Target) {
		return abi.NewError(abi.InvalidArgs, "deliver.send: atCall requires the caller's own session, with a channel at the time of the call")
	}
	view, err := f.openSnapshot(ctx)
	if err != nil {
		return err
	}
	s, err := view.Get(ctx, d.SessionKey)
	if err != nil {
		return err
	}
	e.deliver = f.flow.Deliver
	return e.refuse(s)
}

// refuse returns why the text may not be delivered, or nil.
func (e *sendEffect) refuse(s *abi.Session) error {
	switch {
	case s == nil:
		return abi.NewError(abi.NotFound, "session "+e.delivery.SessionKey+" does not exist")
	case e.deliver == nil:
		return nil
	}
	return e.deliver(s, e.delivery.Target)
}

func (e *sendEffect) apply(tx store.Tx) error {
	if e.deliver != nil {
		s, err := tx.Session(e.delivery.SessionKey)
		if err != nil {
			return err
		}
		if refusal := e.refuse(s); refusal != nil {
			return &abi.Error{Code: abi.Conflict, Message: "step: " + refusal.Error(), Cause: refusal}
		}
	}
	d := e.delivery
	return work.QueueDelivery(tx, &d)
}
