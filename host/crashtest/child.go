package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/delivery"
	"github.com/parley-wasm/parley/host/run/agent"
	"github.com/parley-wasm/parley/host/runners"
	"github.com/parley-wasm/parley/host/sinks"
	"github.com/parley-wasm/parley/host/store/sqlite"
	"github.com/parley-wasm/parley/plugin/wasm"
)

// child is a gateway that makes one call, or picks its answer up, and ends when
// everything that follows has, or at SIGTERM. It takes the database over from
// whoever had it. At SIGUSR1 it stops itself.
func child(ctx context.Context, args []string) error {
	p, pts := &place{}, &points{}
	flags := flag.NewFlagSet("child", flag.ExitOnError)
	flags.StringVar(&p.dir, "dir", "", "")
	flags.StringVar(&p.agent, "agent", "ops", "")
	name := flags.String("trace", "", "")
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

	db, err := sqlite.Open(ctx, p.database(), nil)
	if err != nil {
		return err
	}
	h, err := p.host(ctx, &countedStore{db, pts}, pts)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	orders, awake := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(orders, syscall.SIGUSR1)
	go func() {
		<-orders
		pts.sleep()
	}()
	tokens := make(chan error, 1)
	if pts.asleep {
		signal.Notify(awake, syscall.SIGCONT)
		go func() {
			<-awake
			tokens <- refused(h, p)
		}()
	}
	err = send(ctx, h, p, pts)
	select {
	case late := <-tokens:
		err = errors.Join(err, late)
	default:
	}
	closing, end := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer end()
	return errors.Join(err, h.Close(closing), db.Close())
}

// send returns when all has ended that follows from the call, and fails when
// a token is still accepted then. A process that is told to end meanwhile, or was
// cut off in a step by its sleep, has lost all that it held: no token of its own
// may be left either.
func send(ctx context.Context, h *host.Host, p *place, pts *points) error {
	err := h.Start(ctx)
	var answer *host.Answer
	if err == nil {
		answer, err = h.Call(ctx, &host.Call{
			Tool: abi.ToolSend, ID: "crash-1", Caller: abi.Caller{SessionKey: requester},
			Args: fmt.Appendf(nil, `{"sessionKey":%q,"message":"m #x#","timeoutSeconds":60}`, p.target(0)),
		})
	}
	if err == nil {
		_, err = h.WaitFlow(ctx, answer.FlowID)
	}
	if err == nil {
		return refused(h, p)
	}
	if ctx.Err() == nil && !pts.slept.Load() {
		return err
	}
	// What it executed is ended by others, which it hears of soon.
	for try := 0; ; try++ {
		if err = refused(h, p); err == nil || try == 100 {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// host is as the program makes it, but for what counts.
func (p *place) host(ctx context.Context, db *countedStore, pts *points) (*host.Host, error) {
	settings, err := config.Load(p.config())
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	agents := runners.New(settings, &runners.Options{Supervisor: []string{self, "runner-exec"}})
	post := sinks.New(settings, &sinks.Options{Logger: log})
	return host.New(ctx, wasm.Parley, &host.Options{
		Store: db, Config: settings, CacheDir: p.cache(), Logger: log,
		Agents: func(id string) (agent.Agent, error) {
			a, err := agents.Agent(id)
			return &countedAgent{a, pts}, err
		},
		Sinks: func(channel string) (delivery.Sink, error) {
			s, err := post.Sink(channel)
			return &countedSink{s, pts}, err
		},
		URL: func() string { return "http://127.0.0.1:9" }, // no agent here uses it; with it comes a token
	})
}

// refused fails when a token of an attempt that has ended is still accepted.
func refused(h *host.Host, p *place) error {
	files, err := filepath.Glob(filepath.Join(p.left(), "*.token"))
	for _, file := range files {
		token, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if _, ok := h.Identify(strings.TrimSpace(string(token))); ok {
			return fmt.Errorf("the token in %s is still accepted", file)
		}
	}
	return err
}
