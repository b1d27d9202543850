package step

import (
	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/route"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/work"
)

// sendEffect queues a delivery.
type sendEffect struct{ delivery store.Delivery }

func (f *functions) send(r *request) ([]byte, error) {
	q, err := r.send()
	if err != nil {
		return nil, err
	}
	if !f.party(q.SessionKey) {
		return nil, abi.NewError(abi.Forbidden, "deliver.send: session "+q.SessionKey+" takes no part in this flow")
	}
	var target abi.Target
	if q.AtCall {
		c := f.flow.Caller
		target = abi.Target{Channel: c.Channel, To: c.To, AccountID: c.AccountID, ThreadID: c.ThreadID}
		if q.SessionKey != c.SessionKey || !route.Deliverable(target) {
			return nil, abi.NewError(abi.InvalidArgs, "deliver.send: atCall is for the caller's session, and that had a channel when it called")
		}
	}
	e := &sendEffect{store.Delivery{
		ID: f.newID("d_"), SessionKey: q.SessionKey, RunID: q.RunID, FlowID: f.flow.ID, Text: q.Text, Target: target,
		Status: store.DeliveryPending, CreatedAt: f.flow.Now, UpdatedAt: f.flow.Now,
	}}
	f.effects = append(f.effects, e)
	return abi.AppendDeliveryIDReply(nil, e.delivery.ID), nil
}

func (e *sendEffect) apply(tx store.Tx) error {
	d := e.delivery
	return work.QueueDelivery(tx, &d)
}
