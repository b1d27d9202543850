package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/gateway/client"
	"github.com/parley-wasm/parley/host/gateway/httpapi"
	"github.com/parley-wasm/parley/host/gateway/owner"
	"github.com/parley-wasm/parley/host/gateway/ownerapi"
	"github.com/parley-wasm/parley/host/internal/importer"
)

// backend answers tool calls and shows the work of the database: this process
// (*possession), or the one that owns it (*client.Client).
type backend interface {
	httpapi.Work
	Tools() []abi.Tool
	ToolsFor(ctx context.Context, c abi.Caller) ([]abi.Tool, error)
	Call(ctx context.Context, c *host.Call) (*host.Answer, error)
	Keys() sessionkey.Settings
	Status() *ownerapi.Status
	Import(ctx context.Context, dir string, progress func(importer.Progress)) (*importer.Report, error)
	Close(ctx context.Context) error
}

var (
	_ backend = (*possession)(nil)
	_ backend = (*client.Client)(nil)
)

// database answers tool calls, in whichever process owns the file. When that
// process ends, the next call joins again, and may make this one the owner. It
// is safe for concurrent use.
type database struct {
	app   *app
	place *place

	mu       sync.Mutex
	backend  backend
	replaced chan struct{} // closed when the backend is another one
	leaves   bool          // see leave
	works    bool          // whether this process does the database's work as soon as it owns it
}

// open joins the database: as its owner, or as a client of the owner.
func (a *app) open(ctx context.Context) (*database, error) {
	p, err := a.locate()
	if err != nil {
		return nil, err
	}
	d := &database{app: a, place: p, replaced: make(chan struct{})}
	if d.backend, err = d.join(ctx); err != nil {
		return nil, err
	}
	return d, nil
}

// with opens the database for fn and closes it.
func (a *app) with(ctx context.Context, fn func(*database) error) error {
	d, err := a.open(ctx)
	if err != nil {
		return err
	}
	return errors.Join(fn(d), d.Close(ctx))
}

// join looks again when an owner, such as another call, ends before it has said
// under what it answers. owner.Join waits for whoever is slow; short commands may
// be owners one after the other.
func (d *database) join(ctx context.Context) (b backend, err error) {
	for range attempts {
		if b, err = d.joinOnce(ctx); !errors.Is(err, owner.ErrFree) || ctx.Err() != nil {
			break
		}
	}
	return b, err
}

func (d *database) joinOnce(ctx context.Context) (backend, error) {
	lock, peer, err := owner.Join(ctx, d.place.database, d.app.ownerOptions())
	if err != nil {
		return nil, err
	}
	if lock != nil {
		return d.possess(ctx, lock)
	}
	c, err := client.New(ctx, peer)
	if err != nil {
		peer.Close()
		return nil, err
	}
	if err := d.place.agrees(c.Status()); err != nil {
		return nil, errors.Join(err, c.Close(ctx))
	}
	return c, nil
}

func (d *database) possess(ctx context.Context, lock *owner.Lock) (backend, error) {
	o, err := d.app.possess(ctx, lock, d.place)
	if err != nil {
		return nil, err
	}
	if d.works {
		if err := o.start(); err != nil {
			return nil, errors.Join(err, o.Close(ctx))
		}
	}
	return o, nil
}

// work lets this process do the work that the database holds, now or as soon as
// it owns it.
func (d *database) work() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.works = true
	if o, ok := d.backend.(*possession); ok {
		return o.start()
	}
	return nil
}

// current returns the backend, after joining again if the one that failed is
// still in place.
func (d *database) current(ctx context.Context, failed backend) (backend, error) {
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
func (d *database) Call(ctx context.Context, c *host.Call) (answer *host.Answer, err error) {
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
func (d *database) Import(ctx context.Context, dir string, progress func(importer.Progress)) (report *importer.Report, err error) {
	err = d.try(ctx, func(b backend) error {
		report, err = b.Import(ctx, dir, progress)
		return err
	})
	return report, err
}

// try runs fn with the backend, and again with another one while one owner after
// the other ends.
func (d *database) try(ctx context.Context, fn func(backend) error) error {
	b, err := d.current(ctx, nil)
	for range attempts {
		if err != nil {
			return err
		}
		if err := fn(b); !errors.Is(err, owner.ErrFree) {
			return err
		}
		b, err = d.current(ctx, b)
	}
	return fmt.Errorf("%s: its owner changed %d times during one request: try again", d.Path(), attempts)
}

// Tools returns the tools of the plugin in force.
func (d *database) Tools() []abi.Tool { return d.now().Tools() }

// ToolsFor returns those of the tools that the caller may use.
func (d *database) ToolsFor(ctx context.Context, c abi.Caller) (tools []abi.Tool, err error) {
	err = d.try(ctx, func(b backend) error {
		tools, err = b.ToolsFor(ctx, c)
		return err
	})
	return tools, err
}

// Keys returns the settings in force that keys depend on.
func (d *database) Keys() sessionkey.Settings { return d.now().Keys() }

// Status says under what calls are answered.
func (d *database) Status() *ownerapi.Status { return d.now().Status() }

// Path returns the database's file.
func (d *database) Path() string { return d.place.database }

// leave lets Close end as after an interrupt: what is under way has closeGrace, and
// the next owner goes on with the rest.
func (d *database) leave() { d.leaves = true }

// Close gives up the database. An owner stays until the agents at work have ended.
func (d *database) Close(ctx context.Context) error {
	if d.leaves {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		cancel()
	}
	return d.now().Close(ctx)
}

func (d *database) now() backend {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.backend
}

// ask calls a tool as the operator; the tool's own failures become errors.
func (d *database) ask(ctx context.Context, tool string, args []byte) (gjson.Result, error) {
	answer, err := d.Call(ctx, &host.Call{Tool: tool, Args: args, Caller: abi.Caller{Operator: true}})
	if err != nil {
		return gjson.Result{}, callError(tool, d.Tools(), err)
	}
	result := gjson.ParseBytes(answer.Result)
	if answer.Code != "" {
		return result, errors.New(result.Get("error").String())
	}
	return result, nil
}
