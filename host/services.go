package host

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/chat"
	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/delivery"
	"github.com/parley-wasm/parley/host/flow"
	"github.com/parley-wasm/parley/host/policy"
	"github.com/parley-wasm/parley/host/run"
	"github.com/parley-wasm/parley/host/run/agent"
	"github.com/parley-wasm/parley/host/runners"
	"github.com/parley-wasm/parley/host/sinks"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/work"
)

// services are what works on a durable store: flows, runs, deliveries, messages
// from outside.
type services struct {
	store   store.Durable
	worker  *work.Worker
	flows   *flow.Manager
	runs    *run.Manager
	outbox  *delivery.Outbox
	chat    *chat.Service
	shared  bool
	started atomic.Bool
	stop    context.CancelFunc // of the pruning

	runners *runners.Runners // nil when the embedder supplies agents
	sinks   *sinks.Sinks     // nil when the embedder supplies sinks
}

func (h *Host) assemble(db store.Durable) (*services, error) {
	o := &h.options
	s := &services{store: db, shared: o.Shared, stop: func() {}}
	agents, post := o.Agents, o.Sinks
	if agents == nil {
		s.runners = runners.New(h.Config(), &runners.Options{Supervisor: o.Supervisor})
		agents = s.runners.Agent
	}
	if post == nil {
		s.sinks = sinks.New(h.Config(), &sinks.Options{Logger: o.Logger})
		post = s.sinks.Sink
	}
	var err, errs error
	keep := func() { errs = errors.Join(errs, err) }
	s.worker, err = work.NewWorker(&work.WorkerOptions{Store: db, Now: o.Now, Logger: o.Logger})
	keep()
	s.flows, err = flow.New(&flow.Options{
		Store: db, Steps: h.steps, Settings: h.stepSettings, Plugin: h.about.Name + " " + h.about.Version,
		NewID: o.NewID, Now: o.Now, Logger: o.Logger,
	})
	keep()
	s.runs, err = run.New(&run.Options{
		Store: db, Worker: s.worker, Agents: agents, Tools: func(*store.Run) []abi.Tool { return h.about.Tools },
		Call: h.callAs, URL: o.URL, Config: h.Config, Logger: o.Logger, Now: o.Now,
	})
	keep()
	s.outbox, err = delivery.New(&delivery.Options{
		Store: db, Worker: s.worker, Sink: post,
		Allowed: func(session *abi.Session, t abi.Target) error { return policy.Deliver(h.Config(), session, t) },
		MaxAge:  func() time.Duration { return h.Config().Delivery.MaxAge },
		Logger:  o.Logger, Now: o.Now,
	})
	keep()
	s.chat, err = chat.New(&chat.Options{Store: db, Config: h.Config, NewID: o.NewID, Now: o.Now, Logger: o.Logger})
	keep()
	return s, errs
}

// stepSettings are what a step of a tool that writes works under.
func (h *Host) stepSettings(tool string) *flow.Settings {
	s := h.settings.Load()
	f := &flow.Settings{Config: s.tools[tool]}
	f.Keys = s.config.Keys()
	f.Receive = func(session *abi.Session) error { return policy.Receive(s.config, session) }
	return f
}

// callAs is how an agent calls a tool.
func (h *Host) callAs(ctx context.Context, caller abi.Caller, tool string, args []byte) (*agent.Answer, error) {
	answer, err := h.Call(ctx, &Call{Tool: tool, Args: args, Caller: caller})
	if err != nil {
		return nil, err
	}
	return &agent.Answer{Result: answer.Result, Code: answer.Code}, nil
}

func (s *services) configure(c *config.Config) {
	if s.runners != nil {
		s.runners.Configure(c)
	}
	if s.sinks != nil {
		s.sinks.Configure(c)
	}
}

// Start begins the work that the store holds and that calls and messages add:
// steps of flows, runs of agents, deliveries. It needs a store.Durable, and is
// called once. Unless Options.Shared is set, the store must be this process's
// alone: whatever another one was doing there is taken over at once.
func (h *Host) Start(ctx context.Context) error {
	s := h.services
	if s == nil {
		return abi.NewError(abi.Unsupported, "host: the store keeps no work; it is no store.Durable")
	}
	if !s.shared {
		if err := s.worker.TakeOver(ctx); err != nil {
			return err
		}
	}
	var pruning context.Context
	pruning, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	go h.prune(pruning)
	s.started.Store(true)
	return errors.Join(s.flows.Start(ctx), s.runs.Start(ctx), s.outbox.Start(ctx))
}

func (s *services) close(ctx context.Context) error {
	s.stop()
	return errors.Join(s.flows.Close(ctx), s.runs.Close(ctx), s.outbox.Close(ctx), s.worker.Close(context.WithoutCancel(ctx)))
}

const (
	keepWork   = 7 * 24 * time.Hour // how long ended flows, runs and deliveries are kept
	pruneEvery = time.Hour
	pruneBatch = 500 // rows of a kind that one commit removes
)

// prune removes what ended long ago, a little at a time.
func (h *Host) prune(ctx context.Context) {
	tick := time.NewTicker(pruneEvery)
	defer tick.Stop()
	for {
		for more := true; more; {
			err := h.services.store.Update(ctx, func(tx store.Tx) (err error) {
				more, err = tx.Prune(h.options.Now().Add(-keepWork).UnixMilli(), pruneBatch)
				return err
			})
			if err != nil {
				h.options.Logger.Warn("host: old work could not be removed", "error", err)
				break
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
