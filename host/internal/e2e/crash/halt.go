package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/sink"
	"github.com/parley-wasm/parley/host/store"
)

// Kinds of points.
const (
	pointCommit = "commit"
	pointPost   = "post"
	pointAgent  = "agent"
)

// halt defines where and how a process halts. With the zero value it does not halt.
type halt struct {
	At        string // a point's number, or a kind for the first point of that kind
	After     bool   // after the point; otherwise before it
	Stop      bool   // by SIGSTOP, until it is continued; otherwise by SIGKILL
	PastLease bool   // the stopped process is continued after its lease has ended
}

func (h *halt) String() string {
	side := "before"
	if h.After {
		side = "after"
	}
	return side + " point " + h.At
}

// points numbers the points of a process and halts it at one of them.
type points struct {
	halt
	trace io.Writer // receives a line for each point

	mu     sync.Mutex // protects trace, count, halted and agents
	count  int
	halted bool
	agents []context.Context // of the executed agents
	// stopped is set before the process stops past its lease, continued when the process
	// handles SIGCONT. Interrupted operations may fail between the two.
	stopped, continued atomic.Bool
	// Commits read-lock committing, and stop write-locks it: a process that stopped during
	// a commit would block the database for others.
	committing sync.RWMutex
}

// pass runs do, which is a point of this kind. If the halt names this point, the process
// halts before or after it.
func (p *points) pass(kind string, do func() error) error {
	here := p.number(kind)
	if here && !p.After {
		p.stopOrDie()
	}
	err := do()
	if here && p.After {
		p.stopOrDie()
	}
	return err
}

// number numbers a point and reports whether to halt there.
func (p *points) number(kind string) (here bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	fmt.Fprintln(p.trace, kind)
	here = !p.halted && (p.At == kind || p.At == strconv.Itoa(p.count))
	p.halted = p.halted || here
	return here
}

func (p *points) stopOrDie() {
	if p.Stop {
		p.stop()
		return
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// stop stops the process between two commits. It returns when the process is continued.
func (p *points) stop() {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	p.committing.Lock()
	defer p.committing.Unlock()
	p.stopped.Store(p.PastLease)
	_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	<-continued
	p.continued.Store(p.PastLease)
}

// noticeLimit is the time in which a process must detect that it has lost its claims.
const noticeLimit = 5 * time.Second

// awaitLoss delays an effect of a process that was stopped past its lease until the process
// has detected the loss of its claims, which ends ctx. Without the delay, a process that
// stopped after its last check of ctx could not detect the loss.
func (p *points) awaitLoss(ctx context.Context) {
	if p.continued.Load() {
		select {
		case <-ctx.Done():
		case <-time.After(noticeLimit):
		}
	}
}

// addAgent records the context of an agent that the process executes.
func (p *points) addAgent(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.agents = append(p.agents, ctx)
}

// agentContexts returns the contexts of the agents that the process has executed.
func (p *points) agentContexts() []context.Context {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.agents)
}

// countedStore numbers the commits, countedSink the posts, countedRunner the executions.
type (
	countedStore struct {
		store.Durable
		points *points
	}
	countedSink struct {
		sink.Sink
		points *points
	}
	countedRunner struct {
		runner.Runner
		points *points
	}
)

var _ runner.Reaper = (*countedRunner)(nil)

func (s *countedStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	return s.points.pass(pointCommit, func() error {
		s.points.committing.RLock()
		defer s.points.committing.RUnlock()
		return s.Durable.Update(ctx, fn)
	})
}

func (s *countedSink) Post(ctx context.Context, m *sink.Message) error {
	return s.points.pass(pointPost, func() error {
		s.points.awaitLoss(ctx)
		return s.Sink.Post(ctx, m)
	})
}

func (a *countedRunner) Run(ctx context.Context, t *runner.Turn) (o *runner.Outcome, err error) {
	a.points.addAgent(ctx)
	err = a.points.pass(pointAgent, func() (err error) {
		a.points.awaitLoss(ctx)
		o, err = a.Runner.Run(ctx, t)
		return err
	})
	return o, err
}

// Reap calls the runner's Reap if it has one.
func (a *countedRunner) Reap(ctx context.Context, left json.RawMessage) error {
	if r, ok := a.Runner.(runner.Reaper); ok {
		return r.Reap(ctx, left)
	}
	return nil
}
