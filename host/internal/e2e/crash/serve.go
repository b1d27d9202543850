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

// job is what a gateway process is to do: make a call, or pick up its answer, and end when
// everything that follows has ended.
type job struct {
	Dir   string // of the workspace
	Trace string // name of the trace
	Call  *e2e.Request
	Halt  halt
}

// server is a gateway process that does a job. It takes the database over from the process
// that had it, ends early at SIGTERM, and stops itself at SIGUSR1.
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

// run starts one host after the other until everything that follows from the call has
// ended. Where a flow only waits for a time, the next host's clock is set to it.
func (s *server) run(ctx context.Context) error {
	for ahead := time.Duration(0); ; {
		f, err := s.host(ctx, func() time.Time { return time.Now().Add(ahead) })
		if err != nil || f == nil || !f.Idle() {
			return err
		}
		ahead = time.Until(time.UnixMilli(f.WaitUntil)) + time.Second
	}
}

// host runs a host until it has nothing left to do, and returns the flow; or nil when
// SIGTERM ended it, or it was stopped past its lease.
func (s *server) host(ctx context.Context, now func() time.Time) (*store.Flow, error) {
	h, err := newHost(ctx, s.workspace, s.db, now)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, nil // SIGTERM came between two hosts
	case err != nil:
		return nil, err
	}
	accepted := make(chan error, 1)
	if s.db.points.PastLease {
		continued := make(chan os.Signal, 1)
		signal.Notify(continued, syscall.SIGCONT)
		defer signal.Stop(continued)
		go func() {
			<-continued
			accepted <- s.tokensRefused(h)
		}()
	}
	f, err := s.follow(ctx, h)
	select {
	case late := <-accepted:
		err = errors.Join(err, late)
	default:
	}
	closing, end := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer end()
	return f, errors.Join(err, h.Close(closing))
}

// newHost returns a host like the gateway's, whose points are counted.
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
			return &countedAgent{r, db.points}, err
		},
		Sinks: func(channel string) (sink.Sink, error) {
			s, err := sinks.Sink(channel)
			return &countedSink{s, db.points}, err
		},
		URL: func() string { return "http://127.0.0.1:9" }, // unused; without it agents get no token
	})
}

// follow makes the call and returns the flow when all has ended that follows from it for
// now, and fails when the token of an agent is still accepted then. So when SIGTERM
// ended it, or the process was stopped past its lease, and has lost all its claims.
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
	// Other processes end its runs. It notices that soon: its agents' contexts end, and with
	// them the tokens.
	noticing, cancel := context.WithTimeout(context.WithoutCancel(ctx), noticeLimit)
	defer cancel()
	for _, turn := range s.db.points.executed() {
		select {
		case <-turn.Done():
		case <-noticing.Done():
		}
	}
	return nil, s.tokensRefused(h)
}

// tokensRefused fails when the token of an attempt that has ended is still accepted.
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
