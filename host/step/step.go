// Package step runs one step of a tool call in the sandbox: it gives the plugin
// a read snapshot through the host functions and checks what the step returns.
//
// A step sees one snapshot of the store, opened at its first read. It ends in an
// answer or in an error, and an error commits nothing. The steps of tools that
// are marked readOnly have no flow: every write and every wait in them is
// forbidden.
package step

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonstrict"
	"github.com/parley-wasm/parley/host/engine"
	"github.com/parley-wasm/parley/host/store"
)

// Plugin is the sandboxed module: *engine.Plugin.
type Plugin interface {
	Run(ctx context.Context, export string, input []byte, h engine.HostFunctions) ([]byte, error)
}

// Agents answers what a step asks about agent runs.
type Agents interface {
	// Run returns the run with this id, or nil.
	Run(ctx context.Context, id string) (*abi.Run, error)
}

// Runner runs steps. Its fields are set once; it is safe for concurrent use if
// they are.
type Runner struct {
	Plugin  Plugin
	Store   store.Store
	Agents  Agents // nil: there are no runs
	Logger  *slog.Logger
	Observe func(*Record) // nil unless somebody records the conversation
}

// Result is what a step returned: the answer to the caller.
type Result struct {
	Answer []byte   // a JSON object
	Code   abi.Code // empty unless the tool failed (S0.1)
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

// Call runs the first step of a read-only tool.
func (r *Runner) Call(ctx context.Context, in *abi.CallInput) (*Result, error) {
	input := in.AppendJSON(make([]byte, 0, 1024+len(in.Args)+len(in.Config)))
	fns := &functions{runner: r}
	defer fns.close()
	output, err := r.Plugin.Run(ctx, abi.ExportCall, input, fns)
	if r.Observe != nil {
		r.Observe(&Record{Export: abi.ExportCall, Input: input, Calls: fns.calls, Output: output, Err: err})
	}
	if err == nil && fns.broken != nil {
		err = fns.broken
	}
	if err != nil {
		return nil, fmt.Errorf("step: %w", err)
	}
	return parseResult(output)
}

// parseResult checks a step's output, which the sandbox does not vouch for.
func parseResult(output []byte) (*Result, error) {
	if err := jsonstrict.Check(output); err != nil {
		return nil, bad("is not strict JSON: " + err.Error())
	}
	out := gjson.ParseBytes(output)
	if !out.IsObject() {
		return nil, bad("is not an object")
	}
	var result, code, wait, failure gjson.Result
	var unknown string
	out.ForEach(func(name, v gjson.Result) bool {
		switch name.Str {
		case "result":
			result = v
		case "code":
			code = v
		case "wait":
			wait = v
		case "error":
			failure = v
		default:
			unknown = name.Str
		}
		return true
	})
	switch {
	case unknown != "":
		return nil, bad(fmt.Sprintf("has an unknown member %q", unknown))
	case failure.Exists():
		if result.Exists() || wait.Exists() || code.Exists() {
			return nil, bad("has an error beside a result")
		}
		return nil, stepError(failure)
	case wait.Exists():
		return nil, abi.NewError(abi.Forbidden, "step: a read-only tool may not wait")
	case !result.IsObject():
		return nil, bad("has no result object")
	case code.Exists() && !abi.Code(code.Str).Known():
		return nil, bad(fmt.Sprintf("has the unknown code %q", code.Str))
	}
	return &Result{Answer: []byte(result.Raw), Code: abi.Code(code.Str)}, nil
}

// stepError is the plugin's own refusal. An unknown code crosses as internal.
func stepError(v gjson.Result) error {
	code, message := abi.Code(v.Get("code").Str), v.Get("message").Str
	if !code.Known() {
		return abi.NewError(abi.Internal, fmt.Sprintf("step: the plugin failed with the unknown code %q: %s", code, message))
	}
	return abi.NewError(code, message)
}

func bad(what string) error {
	return abi.NewError(abi.Internal, "step: the plugin's output "+what)
}

// errText is what the plugin may read of a failure: the code and text of an
// *abi.Error, and nothing of any other.
func errText(err error) (abi.Code, string) {
	if e, ok := errors.AsType[*abi.Error](err); ok && e.Code != abi.Internal {
		return e.Code, e.Message
	}
	return abi.Internal, "internal error; the host's log has the details"
}
