package delivery

import (
	"context"
	"fmt"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

// Resend makes a failed or skipped delivery pending again. The delivery keeps its id,
// which is its idempotency key, and its target, if it has one. Its attempts are reset
// to 0 and its time of creation to now. Resend fails with abi.NotFound for an unknown
// delivery, and with abi.Conflict if the delivery is pending or delivered.
func (b *Outbox) Resend(ctx context.Context, id string) error {
	return b.o.Store.Update(ctx, func(tx store.Tx) error {
		d, err := tx.Delivery(id)
		switch {
		case err != nil:
			return err
		case d == nil:
			return unknown(id)
		case d.Status != store.DeliveryFailed && d.Status != store.DeliverySkipped:
			return abi.NewError(abi.Conflict, fmt.Sprintf("the delivery %s is %s: only a failed or skipped delivery can be sent again", id, d.Status))
		}
		now := b.o.Now().UnixMilli()
		d.Status, d.Error, d.Attempts = store.DeliveryPending, "", 0
		d.CreatedAt, d.UpdatedAt, d.EndedAt = now, now, 0
		if err := tx.PutDelivery(d); err != nil {
			return err
		}
		return tx.Schedule(store.KindDelivery, id, now)
	})
}

func unknown(id string) error {
	return abi.NewError(abi.NotFound, fmt.Sprintf("there is no delivery %.100q", id))
}
