package delivery

import (
	"context"
	"errors"

	"github.com/parley-wasm/parley/host/store"
)

// Wait blocks until a delivery has ended, and returns it. It fails with abi.NotFound for
// an unknown delivery, and with ctx's error when ctx ends.
func (b *Outbox) Wait(ctx context.Context, id string) (d *store.Delivery, err error) {
	err = b.watch.Await(ctx, id, func() (bool, error) {
		d, err = b.read(ctx, id)
		return err == nil && d.Ended(), err
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

func (b *Outbox) read(ctx context.Context, id string) (*store.Delivery, error) {
	v, err := b.o.Store.View(ctx)
	if err != nil {
		return nil, err
	}
	d, err := v.Delivery(ctx, id)
	if err = errors.Join(err, v.Close()); err != nil {
		return nil, err
	}
	if d == nil {
		return nil, unknown(id)
	}
	return d, nil
}
