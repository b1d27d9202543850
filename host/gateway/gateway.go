// Package gateway is the core of a gateway: what it owns, and how it lets requests
// in. Front ends (packages httpapi and mcp) are adapters to it.
//
//   - A Gateway is a database that this process owns: the lock, the store, the host
//     with the plugin, and the service to other processes.
//   - A Database is a database in whichever process owns it: this one (a Gateway) or
//     another one (a local.Client). It survives the end of an owner.
//   - An Admission lets the requests of one front end in: credentials to identity to
//     caller, a bound of the requests under way, the tracked wait, the cut-off when
//     the front end closes. Classify gives the class of an error.
//
// Package local, which this one is built on, has the socket between the processes of one
// user and its client. What is served on the socket is a front end too: the process that
// makes a Gateway supplies it (Options.Local), and this package imports none.
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
//	idle     tools that read are answered; nothing else is done
//	working  from Work on: tools that write, flows, runs and deliveries too
//	closing  nobody is served and nothing begun; what is under way may end
//
// Work begins when the process calls Work (serve, mcp), or with the first request, of
// this process or another, that waits for it.
type Gateway struct {
	*host.Host
	options Options
	owner   *local.Owner
	store   store.Database
	front   Front
	url     atomic.Pointer[string] // where HTTP is served; nil = nowhere
	begin   func() error           // Host.Start, once
	working atomic.Bool
}

var _ interface {
	Operator
	Chat
} = (*Gateway)(nil)

// Own makes this process the owner of a database. It waits for an owner that is
// ending, or that ends by itself; beside one that stays it fails with a *local.Error
// of kind store.ErrOwned.
func Own(ctx context.Context, o *Options) (*Gateway, error) {
	o, err := o.validate()
	if err != nil {
		return nil, err
	}
	owner, err := acquire(ctx, o)
	if err != nil {
		return nil, err
	}
	return possess(ctx, owner, o)
}

// possess opens the store and starts to serve other processes. It closes the owner if
// it fails.
func possess(ctx context.Context, owner *local.Owner, o *Options) (_ *Gateway, err error) {
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
		err := g.Start(context.Background()) // not the end of the request that happens to be first
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

// load makes the host, with the plugin of the options, or the one to be watched, or
// the one that is built in.
func (g *Gateway) load(ctx context.Context) (*host.Host, error) {
	o := &g.options
	limits, effects := Limits(o.Config)
	options := host.Options{
		Store: g.store, Config: o.Config, CacheDir: o.CacheDir, Limits: limits, Effects: effects, Logger: o.Logger,
		Supervisor: o.Supervisor, URL: g.address, OnWait: g.begin,
	}
	with := func(c *host.Candidate) (*host.Host, error) {
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
		o.Logger.Error("the plugin to be watched cannot serve; the one that was active does, or the one built in", "error", err)
	}
	return with(&host.Candidate{Wasm: o.BuiltIn})
}

// Work begins the work that the database holds, once.
func (g *Gateway) Work() error { return g.begin() }

// SetURL says where agents that are programs of their own reach the tools.
func (g *Gateway) SetURL(url string) { g.url.Store(&url) }

func (g *Gateway) address() string {
	if u := g.url.Load(); u != nil {
		return *u
	}
	return ""
}

// Status says under what this process answers.
func (g *Gateway) Status() *local.Status {
	active := g.ActivePlugin()
	return &local.Status{
		Info: g.owner.Info(), Config: g.options.ConfigFile, Keys: g.Keys(),
		Plugin: local.Plugin{Digest: active.Digest, Name: active.Name, Version: active.Version},
	}
}

// Keys returns the settings in force that keys depend on.
func (g *Gateway) Keys() sessionkey.Settings { return g.Config().Keys() }

// Import imports an OpenClaw directory. Keys are made canonical under the settings in
// force, because the tools will ask for them so.
func (g *Gateway) Import(ctx context.Context, dir string, progress func(local.ImportProgress)) (*local.ImportReport, error) {
	keys := g.Keys()
	return importer.Import(ctx, dir, g.store, &importer.Options{Keys: &keys, Progress: progress, Logger: g.options.Logger})
}

// Reconfigure puts other settings in force. It reports whether some of what changed
// takes effect at the next start alone: gateway, store, plugins.limits, plugins.watch.
func (g *Gateway) Reconfigure(c *config.Config) (later bool) {
	old := g.Config()
	g.Configure(c)
	return !reflect.DeepEqual(old.Gateway, c.Gateway) || old.Store != c.Store ||
		old.Plugins.Limits != c.Plugins.Limits || old.Plugins.Watch != c.Plugins.Watch
}

// Serve lets a front end serve until ctx ends. Then it retires before it ends the
// context of serve: an agent that is a program has its tools until it has ended.
func (g *Gateway) Serve(ctx context.Context, serve func(context.Context) error) error {
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() {
		defer stop()
		if err := g.retire(ctx); err != nil {
			g.options.Logger.Error("serve: what was under way did not end as it should", "error", err)
		}
	})()
	return serve(serving)
}
