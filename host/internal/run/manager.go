// Package run executes queued runs. A run is one user message, answered by the agent
// of its session.
//
// A run is queued, then running, then done, failed, killed or timeout (abi.Run). The
// runs of one session form a lane: they are executed one at a time, in the order of
// acceptance. A run also belongs to a group: main, subagent or nested. The groups main
// and subagent have a bounded number of slots. While a tool call of a run waits, the
// run releases its slot but keeps its lane.
//
// Invariants:
//   - The claim of the first attempt, the user message and the session's status are
//     one commit. The outcome, the answer's message, its delivery and the scheduling
//     of the flows that wait for the run are one commit.
//   - Until the run has ended, every write of an attempt checks its claim. An attempt
//     that has lost its claim writes nothing, whatever its runner does.
//   - When the host of a run dies, another host makes the next attempt, up to
//     runs.maxAttempts (S10.2). It first ends the processes that the dead attempt left,
//     even if the run had ended before its runner returned.
//   - The deadline counts from the start of the first attempt.
//   - If the store refuses an outcome, the manager keeps it and retries.
package run

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/internal/work"
	"github.com/parley-wasm/parley/host/runner"
	"github.com/parley-wasm/parley/host/store"
)

// Options configures a Manager.
type Options struct {
	Store  store.Durable // required
	Worker *work.Worker  // required
	// Runners returns the runner of an agent. The text of its error is shown to the
	// caller of the run. Required.
	Runners func(agentID string) (runner.Runner, error)
	// Tools returns the tools that the agent may use in an attempt; c is the caller
	// of its tool calls. nil or empty: no tools.
	Tools func(c abi.Caller) []abi.Tool
	// Call calls a tool as c, whose RunID is set. Required with Tools.
	Call func(ctx context.Context, c abi.Caller, tool string, args []byte) (*runner.Answer, error)
	// URL returns the address of the gateway for runners that are programs, or "".
	URL    func() string
	Config func() *config.Config // returns the active configuration; required
	Logger *slog.Logger          // nil: slog.Default
	Now    func() time.Time      // nil: time.Now
}

// Manager executes the runs of a store. It is safe for concurrent use. The caller
// that starts it must call Close.
type Manager struct {
	o         Options
	timers    *work.TimerQueue
	ctx       context.Context // ends when attempts are interrupted
	interrupt context.CancelCauseFunc
	executing sync.WaitGroup
	watch     work.Watch // by run

	reading sync.Mutex // serialises the search for new runs
	known   int64      // highest Seq of the runs queued so far; guarded by reading

	mu       sync.Mutex
	phase    phase
	lanes    *lanes
	attempts map[string]*attempt // by run
	tokens   map[tokenHash]*attempt
}

// phase is the phase of a manager. It only increases.
type phase int

const (
	created  phase = iota // no run begins yet
	open                  // runs begin
	draining              // only nested runs begin, while an active run waits in a tool
	closed                // no run begins
)

// Causes with which an attempt's context ends, in addition to work.ErrLost.
var (
	errDeadline = errors.New("run: over its time limit")
	errAborted  = errors.New("run: aborted")
	errStopping = errors.New("run: the host is stopping")
)

// New returns a manager. No run begins before Start.
func New(o *Options) (*Manager, error) {
	switch {
	case o == nil || o.Store == nil:
		return nil, errors.New("run: Options.Store is missing")
	case o.Worker == nil:
		return nil, errors.New("run: Options.Worker is missing")
	case o.Runners == nil:
		return nil, errors.New("run: Options.Runners is missing")
	case o.Config == nil:
		return nil, errors.New("run: Options.Config is missing")
	case o.Tools != nil && o.Call == nil:
		return nil, errors.New("run: Options.Call is missing; Options.Tools needs it")
	}
	m := &Manager{o: *o, attempts: map[string]*attempt{}, tokens: map[tokenHash]*attempt{}}
	if m.o.Now == nil {
		m.o.Now = time.Now
	}
	if m.o.Logger == nil {
		m.o.Logger = slog.Default()
	}
	m.lanes = newLanes(func(group string) int { return slots(m.o.Config(), group) })
	m.ctx, m.interrupt = context.WithCancelCause(context.Background())
	var err error
	m.timers, err = work.NewTimerQueue(&work.TimerQueueOptions{
		Store: m.o.Store, Kind: store.KindRun, Handle: m.handleDue, Now: m.o.Now, Logger: m.o.Logger,
	})
	return m, err
}

// Start loads the runs that have not ended and begins to execute them. ctx applies to
// the loading only. Start may be called once. On a closed manager it executes
// nothing.
func (m *Manager) Start(ctx context.Context) error {
	if err := m.load(ctx); err != nil {
		return err
	}
	if err := m.timers.Start(ctx); err != nil {
		return err
	}
	m.enter(open)
	return nil
}

// enter sets the phase, unless the manager is in a later one, and starts the runs that
// may begin.
func (m *Manager) enter(p phase) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.phase = max(m.phase, p)
	m.dispatch()
}

// Close waits for the active runs. Meanwhile only nested runs begin, and only while an
// active run waits in a tool. Then Close ends the waits of callers. If ctx ends first,
// Close interrupts the attempts. An interrupted attempt counts towards
// runs.maxAttempts, and the next owner of the store makes the next attempt. Close
// returns when no runner is executing, with ctx's error if it interrupted an attempt.
// It may be called again with a shorter deadline.
func (m *Manager) Close(ctx context.Context) error {
	m.enter(draining)
	interrupted := false
	err := work.Drain(ctx, &m.executing, func() {
		m.enter(closed)
		m.mu.Lock()
		interrupted = interrupted || len(m.attempts) > 0
		m.mu.Unlock()
		m.interrupt(errStopping)
	})
	if !interrupted {
		err = nil
	}
	m.watch.Close()
	return cmp.Or(err, m.timers.Close(ctx))
}

func (m *Manager) millis() int64 { return m.o.Now().UnixMilli() }
