// Package flow runs tool calls that write, as durable flows of short steps.
//
// A flow begins with the first step of a call. The step's effects, the flow's row and
// the answer, if the step returned one, are one commit. A call that fails before that
// commit is not accepted and leaves nothing behind. After the commit a flow is in one
// of four states:
//
//	waiting  for a run to end, for a time, or for whichever comes first
//	parked   resumes only when Retry is called: a step failed twice through the
//	         plugin's fault, the flow reached the step limit, or the version that
//	         wrote its state was rolled back
//	done     no step follows
//	dropped  ended by the operator
//
// Between two steps a flow is only a row. When its wait is over, the next step runs.
// The step is committed only if the row is still at the previous step. Therefore any
// process may run the step, several processes may run it, and a process may die at any
// moment. A step whose commit conflicts runs again on a fresh snapshot.
//
// The answer of a call is recorded in its flow. A caller that stops waiting can
// retrieve it later with the call id (S4.4).
package flow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/step"
	"github.com/parley-wasm/parley/host/internal/work"
	"github.com/parley-wasm/parley/host/store"
)

// Options configures a Manager. Store, Steps, Settings, Versions and NewID are
// required. Now defaults to time.Now, Logger to slog.Default.
type Options struct {
	Store store.Durable
	Steps interface {
		Run(ctx context.Context, p step.Plugin, in *step.Input) (*step.Result, error)
	}
	// Settings returns the active settings for a tool. It is called at the start of
	// each step.
	Settings func(v Version, tool string) *Settings
	// Versions provides the plugin's versions.
	Versions Versions
	NewID    func() string
	Now      func() time.Time
	Logger   *slog.Logger
}

// Settings are the active settings for a step.
type Settings struct {
	Config []byte // the member config of the step's input
	Rules  step.Rules
}

// Versions provides the versions of a plugin.
type Versions interface {
	// Use returns the version for a new call. The caller must call Release.
	Use() Version
	// UseFor returns the version that resumes a flow. The caller must call Release.
	// UseFor returns abi.NotFound or abi.Unsupported when no version can resume the
	// flow, and another error when the lookup failed.
	UseFor(ctx context.Context, f *store.Flow) (Version, error)
	// Distrusted returns why flows whose state was written by this version must not
	// resume automatically, or "".
	Distrusted(digest string) string
}

// Version is one version of a plugin, in use until Release.
type Version interface {
	step.Plugin
	Release()
}

// Manager runs the flows of a store. It is safe for concurrent use. Its creator must
// call Close.
type Manager struct {
	options Options
	timers  *work.TimerQueue
	watch   work.Watch // by flow
}

// New returns a Manager. No step runs before Start.
func New(o *Options) (*Manager, error) {
	if o == nil || o.Store == nil || o.Steps == nil || o.Settings == nil || o.Versions == nil || o.NewID == nil {
		return nil, errors.New("flow: Options.Store, Steps, Versions, Settings and NewID are required")
	}
	m := &Manager{options: *o}
	if m.options.Now == nil {
		m.options.Now = time.Now
	}
	if m.options.Logger == nil {
		m.options.Logger = slog.Default()
	}
	var err error
	m.timers, err = work.NewTimerQueue(&work.TimerQueueOptions{
		Store: o.Store, Kind: store.KindFlow, Handle: m.resume, Now: m.options.Now, Logger: m.options.Logger,
	})
	return m, err
}

// Start begins to resume the stored flows.
func (m *Manager) Start(ctx context.Context) error { return m.timers.Start(ctx) }

// Close ends the waits of callers and returns when the running steps have ended. The
// flows keep their state; the next Manager resumes them.
func (m *Manager) Close(ctx context.Context) error {
	m.watch.Close()
	return m.timers.Close(ctx)
}

func (m *Manager) now() int64 { return m.options.Now().UnixMilli() }

// changed notifies the callers that wait for the flow.
func (m *Manager) changed(id string) { m.watch.Notify(id) }

// await blocks until cond(flow) is true. It returns early with ctx's error or
// work.ErrClosing.
func (m *Manager) await(ctx context.Context, id string, cond func(*store.Flow) bool) (f *store.Flow, err error) {
	err = m.watch.Await(ctx, id, func() (bool, error) {
		f, err = m.Get(ctx, id)
		return err == nil && cond(f), err
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Get returns the flow with this id, or an abi.NotFound error.
func (m *Manager) Get(ctx context.Context, id string) (f *store.Flow, err error) {
	view, err := m.options.Store.View(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	if f, err = view.Flow(ctx, id); err == nil && f == nil {
		err = abi.NewError(abi.NotFound, fmt.Sprintf("there is no flow %q", id))
	}
	return f, err
}

// Wait blocks until the flow has ended, is parked, or is idle, and returns it.
func (m *Manager) Wait(ctx context.Context, id string) (*store.Flow, error) {
	return m.await(ctx, id, func(f *store.Flow) bool { return f.Ended() || f.Status == store.FlowParked || f.Idle() })
}

// change runs fn on the flow and stores the flow in one transaction, then notifies the
// callers that wait for the flow.
func (m *Manager) change(ctx context.Context, id string, fn func(store.Tx, *store.Flow) error) error {
	err := m.options.Store.Update(ctx, func(tx store.Tx) error {
		f, err := tx.Flow(id)
		switch {
		case err != nil:
			return err
		case f == nil:
			return abi.NewError(abi.NotFound, fmt.Sprintf("there is no flow %q", id))
		}
		if err := fn(tx, f); err != nil {
			return err
		}
		f.UpdatedAt = m.now()
		return tx.PutFlow(f)
	})
	if err == nil {
		m.changed(id)
	}
	return err
}
