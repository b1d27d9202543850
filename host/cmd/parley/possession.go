package main

import (
	"context"
	"errors"
	"net/http"
	"os"
	"time"

	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/gateway/httpapi"
	"github.com/parley-wasm/parley/host/gateway/owner"
	"github.com/parley-wasm/parley/host/gateway/ownerapi"
	"github.com/parley-wasm/parley/host/openclaw/importer"
	"github.com/parley-wasm/parley/host/store/sqlite"
)

// possession is a database that this process owns: the lock, the store, the
// host with the plugin, and the service to other processes.
type possession struct {
	*host.Host
	app   *app
	place *place
	lock  *owner.Lock
	store *sqlite.DB
}

// possess opens what the lock protects and starts to serve other processes. It
// closes the lock if it fails.
func (a *app) possess(ctx context.Context, lock *owner.Lock, p *place) (_ *possession, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.Close())
		}
	}()
	module, err := a.module()
	if err != nil {
		return nil, err
	}
	db, err := sqlite.Open(ctx, p.database, nil)
	if err != nil {
		return nil, err
	}
	h, err := host.New(ctx, module, &host.Options{
		Store: db, Config: p.config, CacheDir: a.cacheDir(), Limits: limits(p.config), Logger: a.log,
	})
	if err != nil {
		if a.Plugin != "" {
			err = pluginError(a.Plugin, err)
		}
		return nil, errors.Join(err, db.Close())
	}
	o := &possession{Host: h, app: a, place: p, lock: lock, store: db}
	lock.Handle(o.handler())
	return o, nil
}

// handler is what other processes may ask.
func (o *possession) handler() http.Handler {
	s := &ownerapi.Service{Status: o.Status, Import: o.Import, Tools: httpapi.Socket(o.Host, o.app.log)}
	return s.Handler()
}

// Status says under what this process answers.
func (o *possession) Status() *ownerapi.Status {
	about := o.About()
	return &ownerapi.Status{
		PID: os.Getpid(), Config: o.place.configFile, Keys: o.Config().Keys(),
		Plugin: ownerapi.Plugin{File: o.place.plugin, Name: about.Name, Version: about.Version},
	}
}

// Keys returns the settings in force that keys depend on.
func (o *possession) Keys() sessionkey.Settings { return o.Config().Keys() }

// Import imports an OpenClaw directory. Keys are made canonical under the
// settings in force, because the tools will ask for them so.
func (o *possession) Import(ctx context.Context, dir string, progress func(importer.Progress)) (*importer.Report, error) {
	keys := o.Keys()
	return importer.Import(ctx, dir, o.store, &importer.Options{Keys: &keys, Progress: progress, Logger: o.app.log})
}

const (
	// closeNotice is how long an owner waits for others before it says so.
	closeNotice = time.Second
	// closeGrace is how long others have when the owner was told to end.
	closeGrace = 10 * time.Second
)

// Close ends the service to other processes, lets their requests end, and gives
// up the database. When ctx has ended already, they get closeGrace.
func (o *possession) Close(ctx context.Context) error {
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
		defer cancel()
	}
	notice := time.AfterFunc(closeNotice, func() {
		o.app.note("waiting for the requests of other processes; interrupt to cut them off")
	})
	err := o.lock.Shutdown(ctx)
	notice.Stop()
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		o.app.note("requests of other processes were cut off")
		err = nil
	}
	ctx = context.WithoutCancel(ctx)
	return errors.Join(err, o.Host.Close(ctx), o.store.Close(), o.lock.Close())
}
