package main

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/internal/delivery"
	"github.com/parley-wasm/parley/host/internal/run"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/sink"
	"github.com/parley-wasm/parley/host/store/sqlite"
	"github.com/parley-wasm/parley/plugin/wasm"
)

// child is a gateway that makes one call, or picks its answer up, and ends when
// everything that follows has, or at SIGTERM. It takes the database over from
// whoever had it. At SIGUSR1 it stops itself.
func child(ctx context.Context, args []string) error {
	p, pts, call := &place{}, &points{}, &host.Call{ID: "crash-1"}
	flags := flag.NewFlagSet("child", flag.ExitOnError)
	flags.StringVar(&p.dir, "dir", "", "")
	name := flags.String("trace", "", "")
	flags.StringVar(&call.Caller.SessionKey, "caller", "", "")
	flags.StringVar(&call.Tool, "tool", "", "")
	flags.Func("args", "", func(doc string) error { call.Args = []byte(doc); return nil })
	flags.StringVar(&pts.at, "at", "", "")
	flags.BoolVar(&pts.after, "after", false, "")
	flags.BoolVar(&pts.stop, "stop", false, "")
	flags.BoolVar(&pts.asleep, "asleep", false, "")
	_ = flags.Parse(args) // exits by itself
	trace, err := os.Create(p.trace(*name))
	if err != nil {
		return err
	}
	defer trace.Close()
	pts.trace = trace
	ctx, cancel := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer cancel()
	orders := make(chan os.Signal, 1)
	signal.Notify(orders, syscall.SIGUSR1)
	go func() {
		<-orders
		pts.sleep()
	}()

	db, err := sqlite.Open(ctx, p.database(), nil)
	if err != nil {
		return err
	}
	return errors.Join(lives(ctx, &countedStore{db, pts}, p, call), db.Close())
}

// host is as the program makes it, but for what counts.
func (p *place) host(ctx context.Context, db *countedStore, now func() time.Time) (*host.Host, error) {
	settings, err := config.Load(p.config())
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	agents := run.NewRunners(settings, &run.RunnerOptions{Supervisor: []string{self, "runner-exec"}})
	post := delivery.NewSinks(settings, &delivery.SinkOptions{Logger: log})
	return host.New(ctx, wasm.Parley, &host.Options{
		Store: db, Config: settings, CacheDir: p.cache(), Logger: log, Now: now,
		Agents: func(id string) (runner.Runner, error) {
			a, err := agents.Agent(id)
			return &countedAgent{a, db.points}, err
		},
		Sinks: func(channel string) (sink.Sink, error) {
			s, err := post.Sink(channel)
			return &countedSink{s, db.points}, err
		},
		URL: func() string { return "http://127.0.0.1:9" }, // no agent here uses it; with it comes a token
	})
}
