package delivery

import (
	"context"
	"fmt"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

// Resend makes a delivery that has failed, or was skipped, pending again. It
// keeps its key and, if it had one, its target; attempts and age count anew, so
// that its time of creation becomes now. It fails with abi.NotFound, and with
// abi.Conflict when the delivery is pending or delivered.
func (b *Outbox) Resend(ctx context.Context, id string) error {
	return b.o.Store.Update(ctx, func(tx store.Tx) error {
		d, err := tx.Delivery(id)
		switch {
		case err != nil:
			return err
		case d == nil:
			return unknown(id)
		case d.Status != store.DeliveryFailed && d.Status != store.DeliverySkipped:
			return abi.NewError(abi.Conflict, fmt.Sprintf("the delivery %s is %s: only what has failed or was skipped can be sent again", id, d.Status))
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
