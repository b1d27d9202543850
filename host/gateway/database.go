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

// backend serves the requests for a database: in this process (*Gateway), or through the
// owner (*local.Client).
type backend interface {
	Operator
	Close(ctx context.Context) error
}

var (
	_ backend = (*Gateway)(nil)
	_ backend = (*local.Client)(nil)
	_ backend = (*Database)(nil)
)

// Database serves requests for a database through its owner, which may be this process.
// After the owner has ended, the next request joins the database again, and may make this
// process the owner. It is safe for concurrent use; the caller of Join must call Close.
type Database struct {
	options Options

	mu       sync.Mutex
	backend  backend
	replaced chan struct{} // closed when the backend is replaced
	leave    bool          // Leave was called
	work     bool          // execute the database's work while this process owns it
}

// Join joins a database, as its owner or as a client of the owner.
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

// join retries when an owner ends before it has returned its status: short commands may
// own the database one after the other. local.Join itself waits for a slow owner.
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
		return d.open(ctx, owner)
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

func (d *Database) open(ctx context.Context, owner *local.Owner) (backend, error) {
	g, err := open(ctx, owner, &d.options)
	if err != nil {
		return nil, err
	}
	if d.work {
		if err := g.Work(); err != nil {
			return nil, errors.Join(err, g.Close(ctx))
		}
	}
	return g, nil
}

// Work makes this process execute the database's work (flows, runs, deliveries) as soon
// as it is the owner.
func (d *Database) Work() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.work = true
	if g, ok := d.backend.(*Gateway); ok {
		return g.Work()
	}
	return nil
}

// current returns the backend. If that is still failed, current joins the database again
// first. failed may be nil.
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

// attempts bounds how many owners may end during one request: short commands may own the
// database one after the other.
const attempts = 500

// Call makes a tool call. If the owner ends during the call, Call repeats it with the
// next owner: the call's id prevents a second execution (S4.4).
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

// Import imports an OpenClaw directory. progress may be nil. If the owner ends during
// the import, Import continues it with the next owner.
func (d *Database) Import(ctx context.Context, dir string, progress func(local.ImportProgress)) (report *local.ImportReport, err error) {
	err = d.try(ctx, func(b backend) error {
		report, err = b.Import(ctx, dir, progress)
		return err
	})
	return report, err
}

// try calls fn with the backend. If the owner ends, it repeats fn with the next owner.
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

// Tools returns the tools of the active plugin.
func (d *Database) Tools() []abi.Tool { return d.now().Tools() }

// ToolsFor returns the tools that the caller may use.
func (d *Database) ToolsFor(ctx context.Context, c abi.Caller) (tools []abi.Tool, err error) {
	err = d.try(ctx, func(b backend) error {
		tools, err = b.ToolsFor(ctx, c)
		return err
	})
	return tools, err
}

// Keys returns the current settings for session keys.
func (d *Database) Keys() sessionkey.Settings { return d.now().Keys() }

// Status describes the process, configuration and plugin that answer calls.
func (d *Database) Status() *local.Status { return d.now().Status() }

// Location names the database for users (store.Backend).
func (d *Database) Location() string { return d.options.Store.Location() }

// Leave makes Close behave as after an interrupt: work in progress has closeGrace to
// end, and the next owner resumes the rest.
func (d *Database) Leave() { d.leave = true }

// Close releases the database. If this process is the owner, Close first waits for runs
// and due steps.
func (d *Database) Close(ctx context.Context) error {
	if d.leave {
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
