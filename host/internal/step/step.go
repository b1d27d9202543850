// Package step runs one step of a tool call in the sandbox: it gives the plugin
// a read snapshot through the host functions, records the effects that the plugin
// asks for, and checks what the step returns.
//
// A step sees one snapshot of the store, opened at its first read. What it
// writes is only checked and recorded; Result.Apply carries it out in a
// transaction of the caller's, where each effect looks again at what it relied
// on: an abi.Conflict there means that the step is to be run again, on a fresh
// snapshot. A step that failed has no effects.
//
// The steps of tools that are marked readOnly have no flow: every write and
// every wait in them is forbidden.
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

// Plugin is the version of the sandboxed module that runs a step.
type Plugin interface {
	Run(ctx context.Context, export string, input []byte, h engine.HostFunctions) ([]byte, error)
	Name() string   // with its version
	Digest() string // of the module
	// Grants returns why it may not use an operation of abi.Capabilities, as an
	// *abi.Error: it does not ask for it, or the operator does not allow it.
	Grants(capability string) error
}

// Runner runs steps. Its fields are set once; it is safe for concurrent use if
// they are.
type Runner struct {
	Store   store.Store
	Limits  Limits
	Logger  *slog.Logger
	Observe func(*Record) // nil unless somebody records the conversation
}

// Limits bound what a step may set going. A step that goes beyond one fails as a
// whole, unlike one that meets abi.MaxEffects, which is told so.
type Limits struct {
	Runs       int // that it queues; 0: 8
	Deliveries int // that it queues; 0: 8
}

// Effective returns the limits with the defaults filled in.
func (l Limits) Effective() Limits {
	return Limits{Runs: cmp.Or(l.Runs, 8), Deliveries: cmp.Or(l.Deliveries, 8)}
}

// Input is a step to be run.
type Input struct {
	Export string
	JSON   []byte // the export's input
	Flow   *Flow  // nil: the step of a read-only tool
}

// Flow is the flow that a step belongs to, and the settings in force.
type Flow struct {
	ID       string
	Step     int // the number of this step, from 1
	Tool     string
	Caller   *abi.Caller
	Sessions []string // in which the flow has started runs
	Now      int64    // milliseconds
	Created  []string // children that the flow has created
	Rules
}

// Rules are the settings in force that the host itself holds steps to, whatever the
// plugin makes of them.
type Rules struct {
	Keys sessionkey.Settings
	// Receive decides whether a message may enter a session, Deliver whether a text
	// may leave for a target on its behalf (S8.3); nil: always.
	Receive func(*abi.Session) error
	Deliver func(*abi.Session, abi.Target) error
	// Agents are those that children may have besides the caller's own; nil: any.
	Agents []string
	// MaxChildren is how many children of a session may be at work (S5.2); 0: any
	// number.
	MaxChildren int
}

// Result is what a step returned, and the effects it recorded.
type Result struct {
	abi.StepResult
	Plugin, Digest  string // of the version that ran the step
	checks, effects []effect
}

// Effects returns how many effects the step recorded.
func (r *Result) Effects() int { return len(r.effects) }

// Apply carries the effects out. It fails with abi.Conflict when something has
// changed that the step relied on.
func (r *Result) Apply(tx store.Tx) error {
	for _, e := range slices.Concat(r.checks, r.effects) {
		if err := e.apply(tx); err != nil {
			return err
		}
	}
	return nil
}

// Sessions returns the sessions in which the step starts runs.
func (r *Result) Sessions() []string {
	var keys []string
	for _, e := range r.effects {
		if run, ok := e.(*runEffect); ok {
			keys = append(keys, run.run.SessionKey)
		}
	}
	return keys
}

// Created returns the children that the step creates.
func (r *Result) Created() []string {
	var keys []string
	for _, e := range r.effects {
		if c, ok := e.(*createEffect); ok {
			keys = append(keys, c.session.Key)
		}
	}
	return keys
}

// Record is the conversation of one step over the ABI.
type Record struct {
	Export string
	Input  []byte
	Calls  []HostCall
	Output []byte
	Err    error
}

// HostCall is one host-function call within a step.
type HostCall struct {
	Family  string
	Request []byte
	Reply   []byte
}

// ErrHost is what a step fails with when the host failed it: the store did not
// answer, or the context ended. Running it again can help; the plugin is not to
// blame.
var ErrHost = errors.New("step: the host failed")

// Run runs a step. It fails with an *abi.Error of the plugin's own, with
// abi.Internal or abi.Limit when the plugin broke the rules or trapped, and with
// ErrHost.
func (r *Runner) Run(ctx context.Context, p Plugin, in *Input) (*Result, error) {
	fns := &functions{runner: r, plugin: p, flow: in.Flow}
	defer fns.close()
	output, err := p.Run(ctx, in.Export, in.JSON, fns)
	if r.Observe != nil {
		r.Observe(&Record{Export: in.Export, Input: in.JSON, Calls: fns.calls, Output: output, Err: err})
	}
	switch {
	case fns.broken != nil:
		return nil, fmt.Errorf("%w: %w", ErrHost, fns.broken)
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
		if !fns.begins(key) {
			return nil, bad("leaves the child " + key + " without a run")
		}
	}
	return result, nil
}

// errText is what the plugin may read of a failure: the code and text of an
// *abi.Error, and nothing of any other.
func errText(err error) (abi.Code, string) {
	if e, ok := errors.AsType[*abi.Error](err); ok && e.Code != abi.Internal {
		return e.Code, e.Message
	}
	return abi.Internal, "internal error; the host's log has the details"
}
