package gateway

import (
	"context"
	"errors"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/gateway/local"
	"github.com/parley-wasm/parley/host/store"
)

// Flows, Runs and Deliveries list what the database holds, newest first.

func (d *Database) Flows(ctx context.Context, f *store.Filter) ([]*store.Flow, error) {
	return tried(ctx, d, func(b backend) ([]*store.Flow, error) { return b.Flows(ctx, f) })
}

func (d *Database) Runs(ctx context.Context, f *store.Filter) ([]*store.Run, error) {
	return tried(ctx, d, func(b backend) ([]*store.Run, error) { return b.Runs(ctx, f) })
}

func (d *Database) Deliveries(ctx context.Context, f *store.Filter) ([]*store.Delivery, error) {
	return tried(ctx, d, func(b backend) ([]*store.Delivery, error) { return b.Deliveries(ctx, f) })
}

// Tree returns sessions with what they have spawned.
func (d *Database) Tree(ctx context.Context, q *host.TreeQuery) (*host.Tree, error) {
	return tried(ctx, d, func(b backend) (*host.Tree, error) { return b.Tree(ctx, q) })
}

// Plugins lists the versions of the plugin.
func (d *Database) Plugins(ctx context.Context) (*host.Plugins, error) {
	return tried(ctx, d, func(b backend) (*host.Plugins, error) { return b.Plugins(ctx) })
}

// Swap makes a module the active version of the plugin. It needs no work.
func (d *Database) Swap(ctx context.Context, m *host.Candidate) (*host.Swapped, error) {
	return tried(ctx, d, func(b backend) (*host.Swapped, error) { return b.Swap(ctx, m) })
}

// AwaitPlugin returns the active version of the plugin when it is not the one with
// this digest. While there is no owner it waits for a call that joins again: who only
// looks must not become the owner, which keeps a gateway from starting.
func (d *Database) AwaitPlugin(ctx context.Context, digest string) (*host.Plugin, error) {
	for {
		d.mu.Lock()
		b, replaced := d.backend, d.replaced
		d.mu.Unlock()
		p, err := b.AwaitPlugin(ctx, digest)
		if !errors.Is(err, local.ErrFree) {
			return p, err
		}
		select {
		case <-replaced:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Flow returns a flow, or abi.NotFound.
func (d *Database) Flow(ctx context.Context, id string) (*store.Flow, error) {
	return tried(ctx, d, func(b backend) (*store.Flow, error) { return b.Flow(ctx, id) })
}

// Run returns a run, or abi.NotFound.
func (d *Database) Run(ctx context.Context, id string) (*store.Run, error) {
	return tried(ctx, d, func(b backend) (*store.Run, error) { return b.Run(ctx, id) })
}

// KillRun ends a run and returns it as it has ended; one that had before is
// abi.Conflict. It needs no work. An owner that ended under the request may have
// killed the run: what the next one finds killed then is no conflict.
func (d *Database) KillRun(ctx context.Context, id, why string) (*store.Run, error) {
	asked := false
	return tried(ctx, d, func(b backend) (*store.Run, error) {
		r, err := b.KillRun(ctx, id, why)
		if asked && errors.Is(err, abi.Conflict) {
			if now, _ := b.Run(ctx, id); now != nil && now.Status == abi.RunKilled {
				return now, nil
			}
		}
		asked = true
		return r, err
	})
}

// WaitFlow returns a flow when it has ended or rests, and its deliveries have
// ended, or it is parked. It needs work, or an owner that does it.
func (d *Database) WaitFlow(ctx context.Context, id string) (*store.Flow, error) {
	return tried(ctx, d, func(b backend) (*store.Flow, error) { return b.WaitFlow(ctx, id) })
}

// RetryFlow, DropFlow and ResendDelivery change a row. What they make due is done
// by an owner that works.

func (d *Database) RetryFlow(ctx context.Context, id string) error {
	return d.try(ctx, func(b backend) error { return b.RetryFlow(ctx, id) })
}

func (d *Database) DropFlow(ctx context.Context, id string) error {
	return d.try(ctx, func(b backend) error { return b.DropFlow(ctx, id) })
}

func (d *Database) ResendDelivery(ctx context.Context, id string) error {
	return d.try(ctx, func(b backend) error { return b.ResendDelivery(ctx, id) })
}

func tried[T any](ctx context.Context, d *Database, ask func(backend) (T, error)) (answer T, err error) {
	err = d.try(ctx, func(b backend) error {
		answer, err = ask(b)
		return err
	})
	return answer, err
}
