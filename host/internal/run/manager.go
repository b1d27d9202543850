// Package run executes queued runs: a user message each, answered by the agent of
// its session.
//
// A run is queued, then running, then done, failed, killed or timeout (abi.Run).
// Runs of one session are serial, in the order of their acceptance; the groups
// main and subagent have so many slots. A run that waits in a tool gives its slot
// back and keeps its session's lane.
//
// What holds:
//   - The claim of the first attempt, the user message and the session's status
//     are one commit; so are the outcome, the answer's message, its delivery and
//     the waking of the flows that wait for it.
//   - Every write of an attempt names its claim. One that has lost it writes
//     nothing, whatever its agent still does.
//   - A run whose host died is claimed by another, as the next attempt, up to
//     runs.maxAttempts (S10.2). What its process left running is ended first, and
//     so is what a run left that had ended before its agent.
//   - Its deadline counts from the start of the first attempt.
//   - An outcome that the store refuses is kept and tried again.
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

// Options are the settings of a Manager.
type Options struct {
	Store  store.Durable // required
	Worker *work.Worker  // required
	// Runners returns what executes an agent's runs. An error is the failure of the
	// run, in the words that its caller reads. Required.
	Runners func(agentID string) (runner.Runner, error)
	// Tools returns what the agent of an attempt may use, whose calls come from c;
	// nil or empty: nothing.
	Tools func(c abi.Caller) []abi.Tool
	// Call calls a tool as that caller, whose RunID is set. Required with Tools.
	Call func(ctx context.Context, c abi.Caller, tool string, args []byte) (*runner.Answer, error)
	// URL returns the address of the gateway, for agents that are programs, or "".
	URL    func() string
	Config func() *config.Config // the settings in force; required
	Logger *slog.Logger          // nil: slog.Default
	Now    func() time.Time      // nil: time.Now
}

// Manager executes the runs of a store. It is safe for concurrent use; who starts
// it closes it.
type Manager struct {
	o         Options
	agenda    *work.Agenda
	ctx       context.Context // ends when attempts are interrupted
	interrupt context.CancelCauseFunc
	executing sync.WaitGroup
	watch     work.Watch // of runs

	reading sync.Mutex // held by who looks for new runs
	known   int64      // runs accepted up to this number have been seen; guarded by reading

	mu       sync.Mutex
	phase    phase
	lanes    *lanes
	attempts map[string]*attempt // by run
	tokens   map[digest]*attempt
}

// phase of a manager. It only goes on.
type phase int

const (
	created  phase = iota // nothing begins yet
	open                  // runs begin
	draining              // only what those under way wait for begins
	closed                // nothing begins any more
)

// Why the context of an attempt ends, besides work.ErrLost.
var (
	errDeadline = errors.New("run: over its time limit")
	errAborted  = errors.New("run: aborted")
	errStopping = errors.New("run: the host is stopping")
)

// New returns a manager that executes nothing until it is started.
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
	m := &Manager{o: *o, attempts: map[string]*attempt{}, tokens: map[digest]*attempt{}}
	if m.o.Now == nil {
		m.o.Now = time.Now
	}
	if m.o.Logger == nil {
		m.o.Logger = slog.Default()
	}
	m.lanes = newLanes(func(group string) int { return slots(m.o.Config(), group) })
	m.ctx, m.interrupt = context.WithCancelCause(context.Background())
	var err error
	m.agenda, err = work.NewAgenda(&work.AgendaOptions{
		Store: m.o.Store, Kind: store.KindRun, Handle: m.look, Now: m.o.Now, Logger: m.o.Logger,
	})
	return m, err
}

// Start loads the runs that have not ended and begins. ctx is for the loading
// alone. A manager is started once; one that is closed already stays so.
func (m *Manager) Start(ctx context.Context) error {
	if err := m.load(ctx); err != nil {
		return err
	}
	if err := m.agenda.Start(ctx); err != nil {
		return err
	}
	m.enter(open)
	return nil
}

// enter begins a phase, unless a later one has begun.
func (m *Manager) enter(p phase) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.phase = max(m.phase, p)
	m.dispatch()
}

// Close begins nothing but what the runs under way wait for in tools, and waits
// for all of them; then it ends the waiting of others. When ctx ends first, the
// attempts are interrupted: they count, and the next owner of the store goes on
// with theirs. It returns when no agent runs any more, with ctx's error if it had
// to interrupt. It may be called again, with less patience.
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
	return cmp.Or(err, m.agenda.Close(ctx))
}

func (m *Manager) millis() int64 { return m.o.Now().UnixMilli() }
