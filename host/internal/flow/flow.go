// Package flow runs tool calls that write: durable flows of short steps.
//
// A flow begins with the call's first step. What that step wrote, the flow's row
// and its answer, if it has one already, are one commit; what failed before was
// never accepted and leaves nothing. From then on the flow is
//
//	waiting  for a run to end, a time to come, or whichever is first
//	parked   a step failed twice by the plugin's fault, or there is no end of steps:
//	         goes on when somebody says so
//	done     no step follows
//	dropped  ended by the operator
//
// Between two steps a flow is a row and nothing else. Each further step is run
// when what it waits for has come, and committed only if the flow still stands at
// the step before: so it does not matter who runs a step, or how often, or what
// dies meanwhile. A step that met a conflict is run again on a fresh snapshot.
//
// A call's answer is recorded in its flow. Whoever waits for it may go away and
// come back with the call's id (S4.4).
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

// Options of a Manager. Store, Steps, Settings and NewID are required. Without Now
// it is time.Now, without Logger slog.Default.
type Options struct {
	Store store.Durable
	Steps interface {
		Run(ctx context.Context, p step.Plugin, in *step.Input) (*step.Result, error)
	}
	// Settings returns what is in force for a tool when a step starts.
	Settings func(v Version, tool string) *Settings
	// Versions are the plugin's.
	Versions Versions
	NewID    func() string
	Now      func() time.Time
	Logger   *slog.Logger
}

// Settings are what a step works under.
type Settings struct {
	Config []byte // the input's member config
	Rules  step.Rules
}

// Versions are those of a plugin.
type Versions interface {
	// Use returns the version for a new call, UseFor the one that goes on with a
	// flow. Who got one releases it.
	Use() Version
	// UseFor fails with abi.NotFound or abi.Unsupported when there is none, and with
	// other errors when that could not be found out.
	UseFor(ctx context.Context, f *store.Flow) (Version, error)
	// Distrusted returns why states that the version with this digest writes are not to
	// be gone on with by themselves, or "".
	Distrusted(digest string) string
}

// Version is one version of a plugin, in use.
type Version interface {
	step.Plugin
	Release()
}

// Manager runs the flows of a store. It is safe for concurrent use; who made it
// closes it.
type Manager struct {
	options Options
	agenda  *work.Agenda
	watch   work.Watch // of flows
}

// New makes a Manager. Nothing runs before Start.
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
	m.agenda, err = work.NewAgenda(&work.AgendaOptions{
		Store: o.Store, Kind: store.KindFlow, Handle: m.resume, Now: m.options.Now, Logger: m.options.Logger,
	})
	return m, err
}

// Start goes on with the flows that the store has.
func (m *Manager) Start(ctx context.Context) error { return m.agenda.Start(ctx) }

// Close ends the waiting of callers and, when their steps have ended, the work.
// The flows stay as they are and go on with the next Manager.
func (m *Manager) Close(ctx context.Context) error {
	m.watch.Close()
	return m.agenda.Close(ctx)
}

func (m *Manager) now() int64 { return m.options.Now().UnixMilli() }

// changed lets those look again who wait for the flow.
func (m *Manager) changed(id string) { m.watch.Tell(id) }

// await returns the flow once good says so of it. It ends early with ctx's
// error, or work.ErrClosing.
func (m *Manager) await(ctx context.Context, id string, good func(*store.Flow) bool) (f *store.Flow, err error) {
	err = m.watch.Await(ctx, id, func() (bool, error) {
		f, err = m.Get(ctx, id)
		return err == nil && good(f), err
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Get returns the flow with this id, or abi.NotFound.
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

// Wait returns the flow when it has ended, is parked, or rests.
func (m *Manager) Wait(ctx context.Context, id string) (*store.Flow, error) {
	return m.await(ctx, id, func(f *store.Flow) bool { return f.Ended() || f.Status == store.FlowParked || f.Resting() })
}

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
