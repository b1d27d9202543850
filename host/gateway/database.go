package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/gateway/local"
)

// backend answers for a database: this process (*Gateway), or the one that owns it
// (*local.Client).
type backend interface {
	Operator
	Close(ctx context.Context) error
}

var (
	_ backend = (*Gateway)(nil)
	_ backend = (*local.Client)(nil)
	_ backend = (*Database)(nil)
)

// Database answers tool calls, in whichever process owns it. When that
// process ends, the next call joins again, and may make this one the owner. It
// is safe for concurrent use.
type Database struct {
	options Options

	mu       sync.Mutex
	backend  backend
	replaced chan struct{} // closed when the backend is another one
	leaves   bool          // see Leave
	works    bool          // whether this process does the database's work as soon as it owns it
}

// Join joins a database: as its owner, or as a client of the owner.
func Join(ctx context.Context, o *Options) (*Database, error) {
	o, err := o.validate()
	if err != nil {
		return nil, err
	}
	d := &Database{options: *o, replaced: make(chan struct{})}
	if d.backend, err = d.join(ctx); err != nil {
		return nil, err
	}
	return d, nil
}

// join looks again when an owner, such as another call, ends before it has said
// under what it answers. local.Join waits for whoever is slow; short commands may
// be owners one after the other.
func (d *Database) join(ctx context.Context) (b backend, err error) {
	for range attempts {
		if b, err = d.joinOnce(ctx); !errors.Is(err, local.ErrFree) || ctx.Err() != nil {
			break
		}
	}
	return b, err
}

func (d *Database) joinOnce(ctx context.Context) (backend, error) {
	owner, peer, err := local.Join(ctx, d.options.Store.Location(), d.options.Store.Ownership(), d.options.local())
	if err != nil {
		return nil, err
	}
	if owner != nil {
		return d.possess(ctx, owner)
	}
	c, err := local.NewClient(ctx, peer)
	if err != nil {
		peer.Close()
		return nil, err
	}
	if err := d.options.Agree(c.Status()); err != nil {
		return nil, errors.Join(err, c.Close(ctx))
	}
	return c, nil
}

func (d *Database) possess(ctx context.Context, owner *local.Owner) (backend, error) {
	g, err := possess(ctx, owner, &d.options)
	if err != nil {
		return nil, err
	}
	if d.works {
		if err := g.Work(); err != nil {
			return nil, errors.Join(err, g.Close(ctx))
		}
	}
	return g, nil
}

// Work lets this process do the work that the database holds, now or as soon as
// it owns it.
func (d *Database) Work() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.works = true
	if g, ok := d.backend.(*Gateway); ok {
		return g.Work()
	}
	return nil
}

// current returns the backend, after joining again if the one that failed is
// still in place.
func (d *Database) current(ctx context.Context, failed backend) (backend, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.backend == failed {
		b, err := d.join(ctx)
		if err != nil {
			return nil, err
		}
		_ = failed.Close(ctx)
		d.backend = b
		close(d.replaced)
		d.replaced = make(chan struct{})
	}
	return d.backend, nil
}

// attempts is how often an owner may end that was just found, before or while it
// answers: short commands own the database one after the other.
const attempts = 500

// Call runs a tool call. An owner that ends under it is replaced: the call's id
// keeps it from being done twice (S4.4).
func (d *Database) Call(ctx context.Context, c *host.Call) (answer *host.Answer, err error) {
	call := *c
	if call.ID == "" {
		call.ID = rand.Text()
	}
	err = d.try(ctx, func(b backend) error {
		answer, err = b.Call(ctx, &call)
		return err
	})
	return answer, err
}

// Import imports an OpenClaw directory. progress may be nil. If the owner ends
// under it, it goes on where it was.
func (d *Database) Import(ctx context.Context, dir string, progress func(local.ImportProgress)) (report *local.ImportReport, err error) {
	err = d.try(ctx, func(b backend) error {
		report, err = b.Import(ctx, dir, progress)
		return err
	})
	return report, err
}

// try runs fn with the backend, and again with another one while one owner after
// the other ends.
func (d *Database) try(ctx context.Context, fn func(backend) error) error {
	b, err := d.current(ctx, nil)
	for range attempts {
		if err != nil {
			return err
		}
		if err := fn(b); !errors.Is(err, local.ErrFree) {
			return err
		}
		b, err = d.current(ctx, b)
	}
	return fmt.Errorf("%s: its owner changed %d times during one request: try again", d.Location(), attempts)
}

// Tools returns the tools of the plugin in force.
func (d *Database) Tools() []abi.Tool { return d.now().Tools() }

// ToolsFor returns those of the tools that the caller may use.
func (d *Database) ToolsFor(ctx context.Context, c abi.Caller) (tools []abi.Tool, err error) {
	err = d.try(ctx, func(b backend) error {
		tools, err = b.ToolsFor(ctx, c)
		return err
	})
	return tools, err
}

// Keys returns the settings in force that keys depend on.
func (d *Database) Keys() sessionkey.Settings { return d.now().Keys() }

// Status says under what calls are answered.
func (d *Database) Status() *local.Status { return d.now().Status() }

// Location names the database for users (store.Backend).
func (d *Database) Location() string { return d.options.Store.Location() }

// Leave lets Close end as after an interrupt: what is under way has closeGrace, and
// the next owner goes on with the rest.
func (d *Database) Leave() { d.leaves = true }

// Close gives up the database. An owner stays until the agents at work have ended.
func (d *Database) Close(ctx context.Context) error {
	if d.leaves {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		cancel()
	}
	return d.now().Close(ctx)
}

func (d *Database) now() backend {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.backend
}
