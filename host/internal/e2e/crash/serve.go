package main

import (
	"context"
	"encoding/json"
	"errors"
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
	"github.com/parley-wasm/parley/host/internal/delivery"
	"github.com/parley-wasm/parley/host/internal/e2e"
	"github.com/parley-wasm/parley/host/internal/run"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/sink"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/sqlite"
	"github.com/parley-wasm/parley/plugin/wasm"
)

// job is the task of a gateway process: to make a call or receive its answer, and to end
// when all resulting work has ended.
type job struct {
	Dir   string // of the workspace
	Trace string // name of the process's trace
	Call  *e2e.Request
	Halt  halt
}

// server is a gateway process that executes a job. It takes over the database from its
// previous owner, ends early on SIGTERM, and stops itself on SIGUSR1.
type server struct {
	*workspace
	call *host.Call
	db   *countedStore
}

func serve(ctx context.Context, text string) error {
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return err
	}
	w := &workspace{dir: j.Dir}
	trace, err := os.Create(w.trace(j.Trace))
	if err != nil {
		return err
	}
	defer trace.Close()
	p := &points{halt: j.Halt, trace: trace}
	ctx, cancel := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer cancel()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGUSR1)
	go func() {
		<-stop
		p.stop()
	}()
	return e2e.WithStore(ctx, w.database(), func(db *sqlite.DB) error {
		caller := abi.Caller{SessionKey: j.Call.SessionKey}
		s := &server{w, &host.Call{ID: "crash-1", Tool: j.Call.Tool, Args: j.Call.Args, Caller: caller}, &countedStore{db, p}}
		return s.run(ctx)
	})
}

// run starts one host after the other until all work that results from the call has ended.
// If the flow waits only for a time, the next host's clock is set to that time.
func (s *server) run(ctx context.Context) error {
	for ahead := time.Duration(0); ; {
		f, err := s.host(ctx, func() time.Time { return time.Now().Add(ahead) })
		if err != nil || f == nil || !f.Idle() {
			return err
		}
		ahead = time.Until(time.UnixMilli(f.WaitUntil)) + time.Second
	}
}

// host runs a host until it has no work left, and returns the flow. It returns nil if
// SIGTERM ended the host, or if the process was stopped past its lease.
func (s *server) host(ctx context.Context, now func() time.Time) (*store.Flow, error) {
	h, err := newHost(ctx, s.workspace, s.db, now)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, nil // SIGTERM arrived between two hosts
	case err != nil:
		return nil, err
	}
	refused := make(chan error, 1)
	if s.db.points.PastLease {
		continued := make(chan os.Signal, 1)
		signal.Notify(continued, syscall.SIGCONT)
		defer signal.Stop(continued)
		go func() {
			<-continued
			refused <- s.tokensRefused(h)
		}()
	}
	f, err := s.follow(ctx, h)
	select {
	case failed := <-refused:
		err = errors.Join(err, failed)
	default:
	}
	closing, end := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer end()
	return f, errors.Join(err, h.Close(closing))
}

// newHost returns a host like the gateway's, with counted points.
func newHost(ctx context.Context, w *workspace, db *countedStore, now func() time.Time) (*host.Host, error) {
	settings, err := config.Load(w.config())
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	runners := run.NewRunners(settings, &run.RunnerOptions{Supervisor: []string{self, roleSupervisor}})
	sinks := delivery.NewSinks(settings, &delivery.SinkOptions{Logger: log})
	return host.New(ctx, wasm.Parley, &host.Options{
		Store: db, Config: settings, CacheDir: w.cache(), Logger: log, Now: now,
		Runners: func(id string) (runner.Runner, error) {
			r, err := runners.Runner(id)
			return &countedRunner{r, db.points}, err
		},
		Sinks: func(channel string) (sink.Sink, error) {
			s, err := sinks.Sink(channel)
			return &countedSink{s, db.points}, err
		},
		URL: func() string { return "http://127.0.0.1:9" }, // never called, but without a URL agents receive no token
	})
}

// follow makes the call and returns its flow when no resulting work is running. It returns
// nil if SIGTERM ended the host, or if the process was stopped past its lease and has lost
// all its claims. In both cases it fails if the token of an agent is still accepted.
func (s *server) follow(ctx context.Context, h *host.Host) (f *store.Flow, err error) {
	err = h.Start(ctx)
	var answer *host.Answer
	if err == nil {
		answer, err = h.Call(ctx, s.call)
	}
	if err == nil && answer.FlowID == "" {
		err = fmt.Errorf("the call was refused: %s", answer.Result)
	}
	if err == nil {
		f, err = h.WaitFlow(ctx, answer.FlowID)
	}
	if err == nil {
		return f, s.tokensRefused(h)
	}
	if ctx.Err() == nil && !s.db.points.stopped.Load() {
		return nil, err
	}
	// Another process ends the runs of this one. Once this process detects that, the contexts
	// of its agents end, and their tokens become invalid.
	noticing, cancel := context.WithTimeout(context.WithoutCancel(ctx), noticeLimit)
	defer cancel()
	for _, agent := range s.db.points.agentContexts() {
		select {
		case <-agent.Done():
		case <-noticing.Done():
		}
	}
	return nil, s.tokensRefused(h)
}

// tokensRefused fails if the token of an ended attempt is still accepted.
func (s *server) tokensRefused(h *host.Host) error {
	files, err := filepath.Glob(filepath.Join(s.agents(), "*.token"))
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
