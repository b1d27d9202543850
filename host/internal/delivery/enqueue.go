package delivery

import (
	"context"
	"errors"

	"github.com/parley-wasm/parley/host/store"
)

// queueEntry is a delivery that is to be added to the queue of a destination.
type queueEntry struct {
	destination destination
	delivery    *pending
}

// handle adds a due delivery to the queue of its destination, together with all other
// due deliveries. So deliveries that become due at the same time are in order before
// the first of them is attempted.
func (b *Outbox) handle(ctx context.Context, id string) error {
	b.enqueueing.Lock()
	defer b.enqueueing.Unlock()
	if b.queued(id) {
		return nil
	}
	v, err := b.o.Store.View(ctx)
	if err != nil {
		return err
	}
	all, err := b.entries(ctx, v, id)
	if err = errors.Join(err, v.Close()); err != nil {
		return err
	}
	b.enqueue(all...)
	return nil
}

// entries returns the queue entries of the delivery with this id and of all other due
// deliveries that are not in a queue.
func (b *Outbox) entries(ctx context.Context, v store.View, id string) ([]queueEntry, error) {
	first, err := b.entryOf(ctx, v, id)
	if err != nil {
		return nil, err
	}
	due, err := v.Due(ctx, store.KindDelivery)
	if err != nil {
		return nil, err
	}
	all := []queueEntry{first}
	for _, d := range b.unqueued(due) {
		if d.ID == id {
			continue
		}
		a, err := b.entryOf(ctx, v, d.ID)
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

// unqueued returns the work that is due now and not in a queue.
func (b *Outbox) unqueued(due []store.Due) []store.Due {
	now := b.o.Now().UnixMilli()
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []store.Due
	for _, d := range due {
		if d.At <= now && b.pending[d.ID] == nil {
			all = append(all, d)
		}
	}
	return all
}

func (b *Outbox) entryOf(ctx context.Context, v store.View, id string) (queueEntry, error) {
	d, err := v.Delivery(ctx, id)
	if err != nil {
		return queueEntry{}, err
	}
	if d == nil {
		d = &store.Delivery{ID: id} // its attempt will find nothing to do
	}
	t := d.Target
	if t.IsZero() {
		s, err := v.Get(ctx, d.SessionKey)
		if err != nil {
			return queueEntry{}, err
		}
		t = resolve(s)
	}
	return queueEntry{destinationOf(t), &pending{id: id, created: d.CreatedAt}}, nil
}
