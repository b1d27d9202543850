// Package gateway is the core of a gateway: the owned database and the admission of
// requests. Front ends (packages httpapi and mcp) are adapters to it.
//
//   - A Gateway is a database that this process owns: the lock, the store, the host
//     with the plugin, and the service to other processes.
//   - A Database is a database owned by this process (through a Gateway) or by another
//     one (through a local.Client). It stays usable when the owner changes.
//   - An Admission admits the requests of one front end: it maps credentials to an
//     identity and a caller, bounds the concurrent requests, tracks the waiting ones,
//     and cancels those when the front end closes. Classify returns the class of an
//     error.
//
// Package local, on which this package builds, implements the socket between the
// processes of one user, and its client. The API on that socket is a front end too.
// Options.Local makes it, so this package imports no front end.
package gateway

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/gateway/local"
	"github.com/parley-wasm/parley/host/internal/importer"
	"github.com/parley-wasm/parley/host/store"
)

// Gateway is a database that this process owns. It is safe for concurrent use; the
// caller of Own must call Close.
//
//	idle     it serves requests, and executes no flows, runs or deliveries
//	working  from Work on: it also executes flows, runs and deliveries
//	closing  it refuses new requests and starts no work; active work may end
//
// The commands serve and mcp call Work. Otherwise the Gateway calls it for the first
// request that waits for a flow or a run, of this process or another.
type Gateway struct {
	*host.Host
	options Options
	owner   *local.Owner
	store   store.Database
	front   FrontEnd
	url     atomic.Pointer[string] // base URL of the HTTP API; nil = not served
	begin   func() error           // Host.Start, once
	working atomic.Bool
}

var _ interface {
	Operator
	Chat
} = (*Gateway)(nil)

// Own makes this process the owner of a database. It waits for an owner that is
// shutting down, or that ends by itself. If the owner is long-running, or does not shut
// down in time, Own fails with a *local.Error of kind store.ErrOwned.
func Own(ctx context.Context, o *Options) (*Gateway, error) {
	o, err := o.validate()
	if err != nil {
		return nil, err
	}
	owner, err := acquire(ctx, o)
	if err != nil {
		return nil, err
	}
	return open(ctx, owner, o)
}

// open opens the store and starts to serve other processes. If open fails, it closes the
// owner.
func open(ctx context.Context, owner *local.Owner, o *Options) (_ *Gateway, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, owner.Close())
		}
	}()
	db, err := o.Store.Open(ctx)
	if err != nil {
		return nil, err
	}
	g := &Gateway{options: *o, owner: owner, store: db}
	g.begin = sync.OnceValue(func() error {
		err := g.Start(context.Background()) // the work outlives the request that starts it
		g.working.Store(err == nil)
		return err
	})
	if g.Host, err = g.load(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	g.front = o.Local(g)
	owner.Handle(g.front)
	return g, nil
}

// load makes the host with Options.Plugin, else with the module in the watched file, else
// with the last active version or the built-in one.
func (g *Gateway) load(ctx context.Context) (*host.Host, error) {
	o := &g.options
	limits, effects := Limits(o.Config)
	options := host.Options{
		Store: g.store, Config: o.Config, CacheDir: o.CacheDir, Limits: limits, Effects: effects, Logger: o.Logger,
		Supervisor: o.Supervisor, URL: g.address, OnWait: g.begin,
	}
	with := func(c *host.PluginFile) (*host.Host, error) {
		given := options
		given.Origin, given.Signature, given.BuiltIn = c.Origin, c.Signature, o.BuiltIn
		h, err := host.New(ctx, c.Wasm, &given)
		if err != nil && c.Origin != "" {
			err = PluginError(c.Origin, err)
		}
		return h, err
	}
	if o.Plugin != nil {
		return with(o.Plugin)
	}
	if c := g.watched(); c != nil {
		h, err := with(c)
		if err == nil {
			return h, nil
		}
		o.Logger.Error("plugins.watch: cannot load the plugin; serving the last active version or the built-in one", "error", err)
	}
	return with(&host.PluginFile{Wasm: o.BuiltIn})
}

// Work starts the execution of flows, runs and deliveries. Later calls do nothing.
func (g *Gateway) Work() error { return g.begin() }

// SetURL sets the URL at which agents that run as separate programs reach the tools.
func (g *Gateway) SetURL(url string) { g.url.Store(&url) }

func (g *Gateway) address() string {
	if u := g.url.Load(); u != nil {
		return *u
	}
	return ""
}

// Status describes this process, its configuration and its plugin.
func (g *Gateway) Status() *local.Status {
	active := g.ActivePlugin()
	return &local.Status{
		Info: g.owner.Info(), Config: g.options.ConfigFile, Keys: g.Keys(),
		Plugin: local.Plugin{Digest: active.Digest, Name: active.Name, Version: active.Version},
	}
}

// Keys returns the current settings for session keys.
func (g *Gateway) Keys() sessionkey.Settings { return g.Config().Keys() }

// Import imports an OpenClaw directory. It makes keys canonical under the current
// settings, because the tools look sessions up by canonical keys.
func (g *Gateway) Import(ctx context.Context, dir string, progress func(local.ImportProgress)) (*local.ImportReport, error) {
	keys := g.Keys()
	return importer.Import(ctx, dir, g.store, &importer.Options{Keys: &keys, Progress: progress, Logger: g.options.Logger})
}

// Reconfigure applies new settings. It reports whether a setting has changed that takes
// effect only at the next start: gateway, store, plugins.limits, plugins.watch.
func (g *Gateway) Reconfigure(c *config.Config) (later bool) {
	old := g.Config()
	g.Configure(c)
	return !reflect.DeepEqual(old.Gateway, c.Gateway) || old.Store != c.Store ||
		old.Plugins.Limits != c.Plugins.Limits || old.Plugins.Watch != c.Plugins.Watch
}

// Serve runs a front end until ctx ends. It then cancels the context of serve only after
// the requests and runs have ended, so that agents that run as separate programs can call
// tools until they exit.
func (g *Gateway) Serve(ctx context.Context, serve func(context.Context) error) error {
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() {
		defer stop()
		if err := g.stopServing(ctx); err != nil {
			g.options.Logger.Error("serve: requests or runs did not end cleanly", "error", err)
		}
	})()
	return serve(serving)
}
