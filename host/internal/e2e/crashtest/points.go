package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/sink"
	"github.com/parley-wasm/parley/host/store"
)

// What a point is.
const (
	pointCommit = "commit"
	pointPost   = "post"
	pointAgent  = "agent"
)

// points numbers the commits and outside effects of a process, and at one of them
// kills it, or stops it until it is continued.
type points struct {
	at     string // a number; or what it is, for the first such; empty: none
	after  bool
	stop   bool // else kill
	asleep bool // it is continued when its lease has ended
	trace  io.Writer

	mu    sync.Mutex // of the trace
	count int
	met   bool
	// Set before it stops: what its sleep cut off may fail before sleep returns.
	sleeps atomic.Bool
	slept  atomic.Bool
	// Read-locked by commits: a process that stopped within one would keep others
	// from the database.
	committing sync.RWMutex
}

func (p *points) pass(what string, do func() error) error {
	here := p.number(what)
	if here && !p.after {
		p.halt()
	}
	err := do()
	if here && p.after {
		p.halt()
	}
	return err
}

// number reports whether this is the point to halt at.
func (p *points) number(what string) (here bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	fmt.Fprintln(p.trace, what)
	here = !p.met && (p.at == what || p.at == strconv.Itoa(p.count))
	p.met = p.met || here
	return here
}

func (p *points) halt() {
	if p.stop {
		p.sleep()
	} else {
		die()
	}
}

// die ends the process as nothing can prevent.
func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// sleep stops the process between two commits, and returns when it is continued.
func (p *points) sleep() {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	p.committing.Lock()
	defer p.committing.Unlock()
	p.sleeps.Store(p.asleep)
	_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	<-continued
	p.slept.Store(p.asleep)
}

// notice gives a process that slept past its lease the time to see that ctx has
// ended. Nothing can if it falls asleep after the last look at it.
func (p *points) notice(ctx context.Context) {
	if p.slept.Load() {
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Second):
		}
	}
}

// countedStore numbers the commits.
type countedStore struct {
	store.Durable
	points *points
}

func (s *countedStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	return s.points.pass(pointCommit, func() error {
		s.points.committing.RLock()
		defer s.points.committing.RUnlock()
		return s.Durable.Update(ctx, fn)
	})
}

// countedSink numbers the posts, countedAgent the executions.
type countedSink struct {
	sink.Sink
	points *points
}

func (s *countedSink) Post(ctx context.Context, m *sink.Message) error {
	return s.points.pass(pointPost, func() error {
		s.points.notice(ctx)
		return s.Sink.Post(ctx, m)
	})
}

type countedAgent struct {
	runner.Runner
	points *points
}

func (a *countedAgent) Run(ctx context.Context, t *runner.Turn) (o *runner.Outcome, err error) {
	err = a.points.pass(pointAgent, func() (err error) {
		a.points.notice(ctx)
		o, err = a.Runner.Run(ctx, t)
		return err
	})
	return o, err
}

// Reap passes on to an agent that leaves something behind.
func (a *countedAgent) Reap(ctx context.Context, left json.RawMessage) error {
	if r, ok := a.Runner.(runner.Reaper); ok {
		return r.Reap(ctx, left)
	}
	return nil
}
