// Package step runs one step of a tool call in the sandbox. It serves the plugin's
// host functions from a snapshot of the store, records the writes that the plugin
// requests as effects, and validates the step's output.
//
// A step reads one snapshot of the store, opened at its first read. Its writes are
// only checked and recorded. Result.Apply executes them in a transaction of the
// caller, where each effect checks its preconditions again. If Apply returns
// abi.Conflict, the caller must run the step again on a fresh snapshot. A failed step
// has no effects.
//
// A step of a read-only tool has no flow. It may neither write nor wait.
package step

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host/internal/engine"
	"github.com/parley-wasm/parley/host/store"
)

// Plugin is the plugin version that runs a step.
type Plugin interface {
	Run(ctx context.Context, export string, input []byte, h engine.HostFunctions) ([]byte, error)
	Name() string   // name and version
	Digest() string // of the module
	// Grants returns nil if the plugin may use an operation of abi.Capabilities.
	// Otherwise it returns an *abi.Error: the plugin does not request the operation,
	// or the operator does not allow it.
	Grants(capability string) error
}

// Runner runs steps. It is safe for concurrent use if its fields are not changed
// after the first call.
type Runner struct {
	Store   store.Store
	Limits  Limits
	Logger  *slog.Logger
	Observe func(*Record) // receives the ABI conversation of each step; may be nil
}

// Limits bound the work that a step may queue. A step that exceeds a limit fails as a
// whole. At abi.MaxEffects, in contrast, only the host call fails.
type Limits struct {
	Runs       int // runs queued by the step; 0: 8
	Deliveries int // deliveries queued by the step; 0: 8
}

// Effective returns the limits with the defaults filled in.
func (l Limits) Effective() Limits {
	return Limits{Runs: cmp.Or(l.Runs, 8), Deliveries: cmp.Or(l.Deliveries, 8)}
}

// Input describes the step to run.
type Input struct {
	Export string
	JSON   []byte // the export's input
	Flow   *Flow  // nil: a step of a read-only tool
}

// Flow is the flow to which a step belongs, with the active settings.
type Flow struct {
	ID       string
	Step     int // the number of this step, from 1
	Tool     string
	Caller   *abi.Caller
	Sessions []string // sessions in which the flow has started runs
	Now      int64    // milliseconds
	Created  []string // child sessions that the flow has created
	Rules
}

// Rules are the active settings that the host itself enforces, whatever the plugin
// does.
type Rules struct {
	Keys sessionkey.Settings
	// Receive returns an error if a message may not enter the session. Deliver
	// returns an error if a text may not be sent to a target on behalf of the session
	// (S8.3). nil allows everything.
	Receive func(*abi.Session) error
	Deliver func(*abi.Session, abi.Target) error
	// Agents are the agents that children may have, in addition to the caller's own
	// agent; nil: any agent.
	Agents []string
	// MaxChildren is the maximum number of active children of a session (S5.2); 0: no
	// limit.
	MaxChildren int
}

// Result is the output of a step and its recorded effects.
type Result struct {
	abi.StepResult
	Plugin, Digest  string // Name and Digest of the Plugin that ran the step
	checks, effects []effect
}

// Effects returns the number of recorded effects.
func (r *Result) Effects() int { return len(r.effects) }

// Apply executes the effects in tx. It returns abi.Conflict when a precondition of
// the step no longer holds.
func (r *Result) Apply(tx store.Tx) error {
	for _, e := range slices.Concat(r.checks, r.effects) {
		if err := e.apply(tx); err != nil {
			return err
		}
	}
	return nil
}

// Sessions returns the keys of the sessions in which the step starts runs.
func (r *Result) Sessions() []string {
	var keys []string
	for _, e := range r.effects {
		if run, ok := e.(*runEffect); ok {
			keys = append(keys, run.run.SessionKey)
		}
	}
	return keys
}

// Created returns the keys of the child sessions that the step creates.
func (r *Result) Created() []string {
	var keys []string
	for _, e := range r.effects {
		if c, ok := e.(*createEffect); ok {
			keys = append(keys, c.session.Key)
		}
	}
	return keys
}

// Record is the ABI conversation of one step.
type Record struct {
	Export string
	Input  []byte
	Calls  []HostCall
	Output []byte
	Err    error
}

// HostCall is one call of a host function during a step.
type HostCall struct {
	Namespace string
	Request   []byte
	Reply     []byte
}

// ErrHost marks a failure of the host during a step: a store error or the end of the
// context. The plugin is not at fault, and a retry may succeed.
var ErrHost = errors.New("step: the host failed")

// Run runs a step. It returns the plugin's own *abi.Error, abi.Internal or abi.Limit
// if the plugin trapped or violated the ABI, or ErrHost.
func (r *Runner) Run(ctx context.Context, p Plugin, in *Input) (*Result, error) {
	fns := &functions{runner: r, plugin: p, flow: in.Flow}
	defer fns.close()
	output, err := p.Run(ctx, in.Export, in.JSON, fns)
	if r.Observe != nil {
		r.Observe(&Record{Export: in.Export, Input: in.JSON, Calls: fns.calls, Output: output, Err: err})
	}
	switch {
	case fns.hostErr != nil:
		return nil, fmt.Errorf("%w: %w", ErrHost, fns.hostErr)
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%w: %w", ErrHost, ctx.Err())
	case err != nil:
		return nil, fmt.Errorf("step: %w", err)
	}
	result, err := parseResult(output, in.Flow == nil)
	if err != nil {
		return nil, err
	}
	result.checks, result.effects = fns.checks, fns.effects
	result.Plugin, result.Digest = p.Name(), p.Digest()
	for _, key := range result.Created() {
		if !fns.queuesFirstRun(key) {
			return nil, badOutput("leaves the child " + key + " without a run")
		}
	}
	return result, nil
}

// errText returns the part of an error that the plugin may read: the code and text of
// an *abi.Error, and a fixed text for any other error.
func errText(err error) (abi.Code, string) {
	if e, ok := errors.AsType[*abi.Error](err); ok && e.Code != abi.Internal {
		return e.Code, e.Message
	}
	return abi.Internal, "internal error; the host's log has the details"
}
