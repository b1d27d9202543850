package gateway

import (
	"context"
	"errors"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/gateway/local"
	"github.com/parley-wasm/parley/host/store"
)

// Flows, Runs and Deliveries list the rows of the database, newest first.

func (d *Database) Flows(ctx context.Context, f *store.Filter) ([]*store.Flow, error) {
	return tried(ctx, d, func(b backend) ([]*store.Flow, error) { return b.Flows(ctx, f) })
}

func (d *Database) Runs(ctx context.Context, f *store.Filter) ([]*store.Run, error) {
	return tried(ctx, d, func(b backend) ([]*store.Run, error) { return b.Runs(ctx, f) })
}

func (d *Database) Deliveries(ctx context.Context, f *store.Filter) ([]*store.Delivery, error) {
	return tried(ctx, d, func(b backend) ([]*store.Delivery, error) { return b.Deliveries(ctx, f) })
}

// Tree returns sessions with the sessions they have spawned.
func (d *Database) Tree(ctx context.Context, q *host.TreeQuery) (*host.Tree, error) {
	return tried(ctx, d, func(b backend) (*host.Tree, error) { return b.Tree(ctx, q) })
}

// Plugins lists the versions of the plugin.
func (d *Database) Plugins(ctx context.Context) (*host.Plugins, error) {
	return tried(ctx, d, func(b backend) (*host.Plugins, error) { return b.Plugins(ctx) })
}

// Swap makes a module the active version of the plugin. It does not require Work.
func (d *Database) Swap(ctx context.Context, m *host.PluginFile) (*host.SwapResult, error) {
	return tried(ctx, d, func(b backend) (*host.SwapResult, error) { return b.Swap(ctx, m) })
}

// AwaitPlugin waits until the active version of the plugin has another digest, and
// returns that version. After the owner has ended, AwaitPlugin waits until another request
// has joined the database again. It does not join by itself: this process could become the
// owner without any request of its own, and keep a gateway from starting.
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

// AbortRun aborts a run and returns it in its final state, or fails with abi.Conflict if
// the run has already ended. It does not require Work. If the owner ends during the
// request, it may have aborted the run: after a retry, AbortRun also returns a run that
// already has the status killed.
func (d *Database) AbortRun(ctx context.Context, id, why string) (*store.Run, error) {
	retried := false
	return tried(ctx, d, func(b backend) (*store.Run, error) {
		r, err := b.AbortRun(ctx, id, why)
		if retried && errors.Is(err, abi.Conflict) {
			if now, _ := b.Run(ctx, id); now != nil && now.Status == abi.RunKilled {
				return now, nil
			}
		}
		retried = true
		return r, err
	})
}

// WaitFlow waits until a flow has ended, is idle or is parked, and its deliveries have
// ended. The owner starts to work if it has not.
func (d *Database) WaitFlow(ctx context.Context, id string) (*store.Flow, error) {
	return tried(ctx, d, func(b backend) (*store.Flow, error) { return b.WaitFlow(ctx, id) })
}

// RetryFlow, DropFlow and ResendDelivery change a row. The owner executes the resulting
// work once it works.

func (d *Database) RetryFlow(ctx context.Context, id string) error {
	return d.try(ctx, func(b backend) error { return b.RetryFlow(ctx, id) })
}

func (d *Database) DropFlow(ctx context.Context, id string) error {
	return d.try(ctx, func(b backend) error { return b.DropFlow(ctx, id) })
}

func (d *Database) ResendDelivery(ctx context.Context, id string) error {
	return d.try(ctx, func(b backend) error { return b.ResendDelivery(ctx, id) })
}

// tried is try for functions with a result.
func tried[T any](ctx context.Context, d *Database, fn func(backend) (T, error)) (answer T, err error) {
	err = d.try(ctx, func(b backend) error {
		answer, err = fn(b)
		return err
	})
	return answer, err
}
