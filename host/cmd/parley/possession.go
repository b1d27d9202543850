package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/gateway/httpapi"
	"github.com/parley-wasm/parley/host/gateway/owner"
	"github.com/parley-wasm/parley/host/gateway/ownerapi"
	"github.com/parley-wasm/parley/host/internal/importer"
	"github.com/parley-wasm/parley/host/internal/terminal"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/sqlite"
	"github.com/parley-wasm/parley/plugin/wasm"
)

// possession is a database that this process owns: the lock, the store, the
// host with the plugin, and the service to other processes.
//
//	idle     tools that read are answered; nothing else is done
//	working  from start on: tools that write, flows, runs and deliveries too
//	closing  nobody is served and nothing begun; what is under way may end
//
// Work begins when this process is one that stays (serve, mcp), or with the first
// request, of this process or another, that cannot do without.
type possession struct {
	*host.Host
	app     *app
	place   *place
	lock    *owner.Lock
	store   *sqlite.DB
	socket  *httpapi.Socket
	address atomic.Pointer[string] // where HTTP is served; nil = nowhere
	start   func() error           // begins the work that the database holds, once
	working atomic.Bool
}

var _ httpapi.Owner = (*possession)(nil)

// possess opens what the lock protects and starts to serve other processes. It
// closes the lock if it fails.
func (a *app) possess(ctx context.Context, lock *owner.Lock, p *place) (_ *possession, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.Close())
		}
	}()
	db, err := sqlite.Open(ctx, p.database, nil)
	if err != nil {
		return nil, err
	}
	o := &possession{app: a, place: p, lock: lock, store: db}
	o.start = sync.OnceValue(func() error {
		err := o.Start(context.Background()) // not the end of whoever happens to be first
		o.working.Store(err == nil)
		return err
	})
	if o.Host, err = o.load(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	o.socket = httpapi.NewSocket(o, a.log)
	service := &ownerapi.Service{Status: o.Status, Import: o.Import, Tools: o.socket}
	lock.Handle(service.Handler())
	return o, nil
}

// load makes the host, with the plugin that a flag names, or that is to be watched, or
// that is built in.
func (o *possession) load(ctx context.Context) (*host.Host, error) {
	use, effects := limits(o.place.config)
	options := host.Options{
		Store: o.store, Config: o.place.config, CacheDir: o.app.cacheDir(), Limits: use, Effects: effects, Logger: o.app.log,
		Supervisor: supervisor(), URL: o.url, OnWait: o.start,
	}
	with := func(c *host.Candidate) (*host.Host, error) {
		given := options
		given.Origin, given.Signature, given.BuiltIn = c.Origin, c.Signature, wasm.Parley
		h, err := host.New(ctx, c.Wasm, &given)
		if err != nil && c.Origin != "" {
			err = pluginError(c.Origin, err)
		}
		return h, err
	}
	if o.place.plugin != nil {
		return with(o.place.plugin)
	}
	if c := o.app.watched(o.place.config); c != nil {
		h, err := with(c)
		if err == nil {
			return h, nil
		}
		o.app.log.Error("the plugin to be watched cannot serve; the one that was active does, or the one built in", "error", err)
	}
	return with(&host.Candidate{Wasm: wasm.Parley})
}

// supervisor is the command that starts the programs of agents: this program.
func supervisor() []string {
	self, err := os.Executable()
	if err != nil {
		return nil // agents that are programs of their own fail, and say so
	}
	return []string{self, supervise}
}

// url is where programs of agents reach the tools, or "".
func (o *possession) url() string {
	if u := o.address.Load(); u != nil {
		return *u
	}
	return ""
}

// Status says under what this process answers.
func (o *possession) Status() *ownerapi.Status {
	active := o.ActivePlugin()
	return &ownerapi.Status{
		PID: os.Getpid(), Stays: stays(o.app.command), Config: o.place.configFile, Keys: o.Config().Keys(),
		Plugin: ownerapi.Plugin{Digest: active.Digest, Name: active.Name, Version: active.Version},
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
	// closeGrace is how long what is under way may take when the owner is told to end.
	closeGrace = 10 * time.Second
)

// Close gives up the database. Runs that this process has let begin may take their
// time, and others are served meanwhile: a run that is cut off has used up one of
// its attempts, and it may be anybody's. Then it retires. When ctx has ended, it
// retires at once.
func (o *possession) Close(ctx context.Context) error {
	err := errors.Join(o.finish(ctx), o.retire(ctx))
	ctx, cancel := withGrace(ctx)
	defer cancel()
	return errors.Join(err, o.end(ctx, o.Host.Close), o.store.Close(), o.lock.Close())
}

// stepPause is how often an owner that ends looks whether a step has been run that
// is due, and which may start a run.
const stepPause = 20 * time.Millisecond

// finish waits until there is nothing more to do for agents, or ctx ends: neither
// runs nor steps that may start some.
func (o *possession) finish(ctx context.Context) error {
	if !o.working.Load() {
		return nil
	}
	notice := time.AfterFunc(closeNotice, func() {
		o.app.note("waiting for %s; interrupt to leave it to the next owner", o.underWay(ctx))
	})
	defer notice.Stop()
	for ctx.Err() == nil {
		runs, err := o.Runs(ctx, &store.Filter{Statuses: []string{abi.RunQueued, abi.RunRunning}, Limit: 1})
		if err == nil && len(runs) > 0 {
			_, err = o.WaitRun(ctx, abi.Caller{Operator: true}, runs[0].ID, time.Hour)
		}
		going := len(runs) > 0
		if err == nil && !going {
			if going, err = o.StepDue(ctx); going {
				pause(ctx, stepPause)
			}
		}
		if ctx.Err() == nil && (err != nil || !going) {
			return err
		}
	}
	return nil
}

// pause returns after a time, or when ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// retire sends other processes that wait for something to the next owner, and
// lets every other request of theirs and the agents at work end.
func (o *possession) retire(ctx context.Context) error {
	ctx, cancel := withGrace(ctx)
	defer cancel()
	drained := make(chan error, 1)
	go func() { drained <- o.end(ctx, o.Drain) }()
	o.lock.OnShutdown(o.socket.Close)
	notice := time.AfterFunc(closeNotice, func() {
		o.app.note("waiting for the requests of other processes; interrupt to cut them off")
	})
	err := o.lock.Shutdown(ctx)
	notice.Stop()
	if ended(err) {
		o.app.note("requests of other processes were cut off")
		err = nil
	}
	return errors.Join(err, <-drained)
}

// withGrace returns ctx, or, when it has ended already, one for what is left to do.
func withGrace(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Err() == nil {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
}

// end lets work end, until ctx does, and tells what it waits for.
func (o *possession) end(ctx context.Context, work func(context.Context) error) error {
	if !o.working.Load() {
		return work(ctx)
	}
	what := o.underWay(ctx)
	notice := time.AfterFunc(closeNotice, func() {
		o.app.note("waiting for %s; interrupt to leave it to the next owner", what)
	})
	err := work(ctx)
	notice.Stop()
	if ended(err) {
		o.app.note("%s was cut off; the next owner of the database goes on with it, such as parley serve", what)
		return nil
	}
	return err
}

// underWay names what agents are doing.
func (o *possession) underWay(ctx context.Context) string {
	runs, err := o.Runs(context.WithoutCancel(ctx), &store.Filter{Statuses: []string{abi.RunRunning}})
	if err != nil || len(runs) == 0 {
		return "what is under way"
	}
	var sessions []string
	for _, r := range runs {
		if !slices.Contains(sessions, r.SessionKey) {
			sessions = append(sessions, r.SessionKey)
		}
	}
	const most = 3
	if len(sessions) > most {
		return fmt.Sprintf("the work of agents in %s", terminal.Plural(len(sessions), "session"))
	}
	return "the work of agents in " + terminal.Line(strings.Join(sessions, ", "))
}

// ended reports whether something was cut off by the end of its context.
func ended(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
