package host

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/internal/chat"
	"github.com/parley-wasm/parley/host/internal/delivery"
	"github.com/parley-wasm/parley/host/internal/flow"
	"github.com/parley-wasm/parley/host/internal/module"
	"github.com/parley-wasm/parley/host/internal/run"
	"github.com/parley-wasm/parley/host/internal/step"
	"github.com/parley-wasm/parley/host/internal/work"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/store"
)

// services are the components that work on a durable store: flows, runs, deliveries
// and inbound messages.
type services struct {
	store  store.Durable
	worker *work.Worker
	flows  *flow.Manager
	runs   *run.Manager
	outbox *delivery.Outbox
	chat   *chat.Service
	shared bool
	pruner *pruner

	takeOverMu sync.Mutex
	tookOver   bool // guarded by takeOverMu

	runners *run.Runners    // nil if the embedder supplies runners
	sinks   *delivery.Sinks // nil if the embedder supplies sinks
}

func (h *Host) newServices(db store.Durable) (*services, error) {
	o := &h.options
	s := &services{store: db, shared: o.Shared}
	runners, post := o.Runners, o.Sinks
	if runners == nil {
		s.runners = run.NewRunners(h.Config(), &run.RunnerOptions{Supervisor: o.Supervisor})
		runners = s.runners.Runner
	}
	if post == nil {
		s.sinks = delivery.NewSinks(h.Config(), &delivery.SinkOptions{Logger: o.Logger})
		post = s.sinks.Sink
	}
	var err, errs error
	keep := func() { errs = errors.Join(errs, err) }
	s.worker, err = work.NewWorker(&work.WorkerOptions{Store: db, Now: o.Now, Logger: o.Logger})
	keep()
	s.flows, err = flow.New(&flow.Options{
		Store: db, Steps: h.steps, Settings: h.stepSettings, Versions: moduleVersions{h},
		NewID: o.NewID, Now: o.Now, Logger: o.Logger,
	})
	keep()
	s.runs, err = run.New(&run.Options{
		Store: db, Worker: s.worker, Runners: runners, Tools: h.allowedTools, Call: h.callAs,
		URL: o.URL, Config: h.Config, Logger: o.Logger, Now: o.Now,
	})
	keep()
	s.outbox, err = delivery.New(&delivery.Options{
		Store: db, Worker: s.worker, Sink: post,
		Allowed: func(session *abi.Session, t abi.Target) error {
			c := h.Config()
			return c.Session.SendPolicy.Deliver(c.Keys(), session, t)
		},
		MaxAge: func() time.Duration { return h.Config().Delivery.MaxAge },
		Logger: o.Logger, Now: o.Now,
	})
	keep()
	s.chat, err = chat.New(&chat.Options{Store: db, Config: h.Config, NewID: o.NewID, Now: o.Now, Logger: o.Logger})
	keep()
	return s, errs
}

// stepSettings returns the settings for a step of a tool that writes.
func (h *Host) stepSettings(v flow.Version, tool string) *flow.Settings {
	s := h.settings.Load()
	return &flow.Settings{
		Config: s.input(v.(*module.Version), tool),
		Rules: step.Rules{
			Keys: s.config.Keys(),
			Receive: func(session *abi.Session) error {
				return s.config.Session.SendPolicy.Receive(s.config.Keys(), session)
			},
			Deliver: func(session *abi.Session, t abi.Target) error {
				return s.config.Session.SendPolicy.Deliver(s.config.Keys(), session, t)
			},
			Agents:      s.config.Agents.IDs(),
			MaxChildren: s.config.Agents.Subagents.MaxChildrenPerAgent,
		},
	}
}

// callAs calls a tool for the agent of a run.
func (h *Host) callAs(ctx context.Context, caller abi.Caller, tool string, args []byte) (*runner.Answer, error) {
	answer, err := h.Call(ctx, &Call{Tool: tool, Args: args, Caller: caller})
	if err != nil {
		return nil, err
	}
	return &runner.Answer{Result: answer.Result, Code: answer.Code}, nil
}

func (s *services) configure(c *config.Config) {
	if s.runners != nil {
		s.runners.Configure(c)
	}
	if s.sinks != nil {
		s.sinks.Configure(c)
	}
}

// Start begins to execute the work in the store and the work that calls and messages
// add: flow steps, agent runs and deliveries. It needs a store.Durable. It must be
// called at most once.
// Unless Options.Shared is set, no other process may use the store: Start takes over
// the work of previous processes at once.
func (h *Host) Start(ctx context.Context) error {
	s, o := h.services, &h.options
	if s == nil {
		return abi.NewError(abi.Unsupported, "host: the store cannot keep flows and runs; it must be a store.Durable")
	}
	if err := s.takeOver(ctx); err != nil {
		return err
	}
	s.pruner = startPruner(s.store, h.modules.Tidy, o.Now, o.Logger)
	return errors.Join(s.flows.Start(ctx), s.runs.Start(ctx), s.outbox.Start(ctx))
}

// takeOver takes over the work of previous processes, once, unless the store is
// shared.
func (s *services) takeOver(ctx context.Context) error {
	s.takeOverMu.Lock()
	defer s.takeOverMu.Unlock()
	if s.shared || s.tookOver {
		return nil
	}
	err := s.worker.TakeOver(ctx)
	s.tookOver = err == nil
	return err
}

// Drain waits until the run attempts in progress have ended. Until then only runs that
// these attempts wait for may begin; afterwards no run begins. If ctx ends first, Drain
// interrupts the attempts and returns ctx's error. All other work continues: callers
// that wait for these runs, and tool calls of their agents, get their answers. A
// gateway drains before it stops serving; Close drains too.
func (h *Host) Drain(ctx context.Context) error {
	if h.services == nil {
		return nil
	}
	return h.services.runs.Close(ctx)
}

// close ends the runs first: an agent that waits in a tool call must not mistake the
// end of the wait for the call's answer.
func (s *services) close(ctx context.Context) error {
	s.pruner.close()
	return errors.Join(s.runs.Close(ctx), s.flows.Close(ctx), s.outbox.Close(ctx), s.worker.Close(context.WithoutCancel(ctx)))
}
