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

// halt says where a process halts, and how. The zero value halts nowhere.
type halt struct {
	At        string // a point's number, or a kind of points for the first of that kind
	After     bool   // after the point; else before it
	Stop      bool   // by SIGSTOP, until it is continued; else by SIGKILL
	PastLease bool   // it is continued when its lease has ended
}

func (h *halt) String() string {
	side := "before"
	if h.After {
		side = "after"
	}
	return side + " point " + h.At
}

// points numbers the points of a process, and halts it at one of them.
type points struct {
	halt
	trace io.Writer // gets a line for each point

	mu     sync.Mutex // of the trace, and what follows
	count  int
	halted bool
	turns  []context.Context // of the agents that it has executed
	// stopped is set before the process stops past its lease, and continued after:
	// what the stop has interrupted may fail before the process notices that it was
	// continued.
	stopped, continued atomic.Bool
	// committing is read-locked by commits: a process that stopped within one would keep
	// others from the database.
	committing sync.RWMutex
}

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

// stop stops the process between two commits, and returns when it is continued.
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

// noticeLimit is how long a process may take to notice that it has lost its claims.
const noticeLimit = 5 * time.Second

// notice gives a process that was stopped past its lease the time to see that ctx has
// ended. It cannot see that if it stops after it has looked for the last time.
func (p *points) notice(ctx context.Context) {
	if p.continued.Load() {
		select {
		case <-ctx.Done():
		case <-time.After(noticeLimit):
		}
	}
}

// execute notes the context of an agent that the process executes.
func (p *points) execute(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turns = append(p.turns, ctx)
}

// executed returns the contexts of the agents that the process has executed.
func (p *points) executed() []context.Context {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.turns)
}

// countedStore numbers the commits, countedSink the posts, countedAgent the executions.
type (
	countedStore struct {
		store.Durable
		points *points
	}
	countedSink struct {
		sink.Sink
		points *points
	}
	countedAgent struct {
		runner.Runner
		points *points
	}
)

var _ runner.Reaper = (*countedAgent)(nil)

func (s *countedStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	return s.points.pass(pointCommit, func() error {
		s.points.committing.RLock()
		defer s.points.committing.RUnlock()
		return s.Durable.Update(ctx, fn)
	})
}

func (s *countedSink) Post(ctx context.Context, m *sink.Message) error {
	return s.points.pass(pointPost, func() error {
		s.points.notice(ctx)
		return s.Sink.Post(ctx, m)
	})
}

func (a *countedAgent) Run(ctx context.Context, t *runner.Turn) (o *runner.Outcome, err error) {
	a.points.execute(ctx)
	err = a.points.pass(pointAgent, func() (err error) {
		a.points.notice(ctx)
		o, err = a.Runner.Run(ctx, t)
		return err
	})
	return o, err
}

// Reap passes on to a runner that leaves processes behind.
func (a *countedAgent) Reap(ctx context.Context, left json.RawMessage) error {
	if r, ok := a.Runner.(runner.Reaper); ok {
		return r.Reap(ctx, left)
	}
	return nil
}
