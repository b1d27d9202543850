package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/engine/extismenv"
	"github.com/parley-wasm/parley/host/internal/engine/instance"
)

// Kind classifies errors of a plugin. It is itself an error: errors.Is(err,
// engine.Time) matches a wrapped *Error of that kind.
type Kind string

// Kinds of errors. An error with a kind of the first group means that the module is not
// a usable plugin.
const (
	NotAModule     Kind = "not a module"
	BadImport      Kind = "bad import"      // the module imports something that plugins do not get
	MissingExport  Kind = "missing export"  // a required export is missing
	BadSignature   Kind = "bad signature"   // of an import or export
	WrongABI       Kind = "wrong ABI"       // the module uses another ABI version
	BadDescription Kind = "bad description" // describe returned an invalid description

	Trap     Kind = "trap"      // the plugin crashed
	Failed   Kind = "failed"    // the plugin reported the call as failed
	Canceled Kind = "canceled"  // the caller's context ended
	HostCall Kind = "host call" // a host function failed, panicked, or exceeded the step's deadline
	Closed   Kind = "closed"    // the plugin or the engine is closed
)

// Kinds of errors of a step or a module that exceeds a limit (see Limits).
const (
	Fuel      Kind = "limit: fuel"
	Time      Kind = "limit: time"
	Stack     Kind = "limit: stack"
	Memory    Kind = "limit: memory"
	HostCalls Kind = "limit: host calls"
	BytesIn   Kind = "limit: bytes in"
	BytesOut  Kind = "limit: bytes out"
	LogLines  Kind = "limit: log lines"

	// Limits that the implementation of the host functions enforces.
	Runs       Kind = "limit: runs"
	Deliveries Kind = "limit: deliveries"
)

func (k Kind) Error() string { return string(k) }

// code returns the abi.Code that the caller of a tool receives.
func (k Kind) code() abi.Code {
	switch k {
	case NotAModule, BadImport, MissingExport, BadSignature, BadDescription:
		return abi.InvalidArgs
	case WrongABI:
		return abi.Unsupported
	}
	if k.IsLimit() {
		return abi.Limit
	}
	return abi.Internal
}

// Setting returns the key of the limit in the configuration, or "" if the limit is not
// configurable.
func (k Kind) Setting() string {
	if name := settings[k]; name != "" {
		return "plugins.limits." + name
	}
	return ""
}

var settings = map[Kind]string{
	Fuel: "fuel", Time: "stepTimeoutMs", Memory: "memoryMiB", HostCalls: "hostCalls", BytesIn: "inMiB", BytesOut: "outMiB", LogLines: "logLines",
	Runs: "runs", Deliveries: "deliveries",
}

// IsLimit reports whether the kind means that a limit was exceeded.
func (k Kind) IsLimit() bool { return strings.HasPrefix(string(k), "limit: ") }

// Error is an error of this package about a plugin. With errors.Is and errors.As, an
// Error matches its Kind, the Kind's abi.Code (Limit, Unsupported, InvalidArgs, else
// Internal) and its cause.
type Error struct {
	Op      string // load, start, describe, call, resume
	Kind    Kind
	Message string // one line
	Cause   error  // may be nil; for a trap, its text includes the stack trace
}

func (e *Error) Error() string {
	if e.Kind.IsLimit() {
		return "engine: " + e.Op + ": " + string(e.Kind) + ": " + e.Message
	}
	return "engine: " + e.Op + ": " + e.Message
}

func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Kind, e.Kind.code()}
	}
	return []error{e.Kind, e.Kind.code(), e.Cause}
}

func errorf(op string, k Kind, format string, args ...any) *Error {
	return &Error{Op: op, Kind: k, Message: fmt.Sprintf(format, args...)}
}

// canceled returns the error of a call that ended because the caller's context ended.
// reason is the error of that context.
func canceled(op string, reason, cause error) *Error {
	message := "stopped because the caller canceled it"
	if errors.Is(reason, context.DeadlineExceeded) {
		message = "stopped because the caller's deadline has passed"
	}
	return &Error{op, Canceled, message, cause}
}

// classify translates an error of an instance into an *Error. memory is the size of the
// guest's memory at the time of the error.
func (e *Engine) classify(op string, err error, memory int) *Error {
	out := &Error{Op: op, Kind: Trap, Cause: err}
	l := &e.options.Limits
	var (
		own    *Error
		fault  *extismenv.Fault
		failed *instance.Failed
		ended  *instance.Canceled
	)
	switch {
	case errors.As(err, &own): // from a host function
		out.Kind, out.Message = own.Kind, own.Message
	case errors.Is(err, instance.ErrClosed):
		out.Kind, out.Message = Closed, err.Error()
	case errors.Is(err, instance.ErrFuel):
		out.Kind, out.Message = Fuel, fmt.Sprintf("the step used up its %d units", l.Fuel)
	case errors.Is(err, instance.ErrTime):
		out.Kind, out.Message = Time, fmt.Sprintf("the step was stopped after its limit of %v", l.StepTimeout)
	case errors.As(err, &ended):
		return canceled(op, ended.Cause, err)
	case errors.Is(err, instance.ErrStack):
		out.Kind, out.Message = Stack, "the step's calls are nested too deeply: stack overflow"
	case errors.As(err, &failed):
		out.Kind, out.Message = Failed, failed.Error()
	case errors.As(err, &fault):
		out.Kind, out.Message = faultKinds[fault.Kind], fault.Reason
	case uint64(memory)*2 > uint64(l.MemoryMiB)<<20:
		// A guest that runs out of memory traps like any other. Allocators double the
		// memory, so memory use above half of the limit is the best indication.
		out.Kind, out.Message = Memory, fmt.Sprintf("trap: %s, with %d KiB of memory in use, of at most %d MiB", firstLine(err), memory>>10, l.MemoryMiB)
	default:
		out.Message = "trap: " + firstLine(err)
	}
	if setting := out.Kind.Setting(); setting != "" {
		out.Message += " (" + setting + ")"
	}
	return out
}

var faultKinds = map[extismenv.FaultKind]Kind{
	extismenv.Access:    Trap,
	extismenv.Refused:   Trap,
	extismenv.Host:      HostCall,
	extismenv.Memory:    Memory,
	extismenv.In:        BytesIn,
	extismenv.Out:       BytesOut,
	extismenv.HostCalls: HostCalls,
	extismenv.LogLines:  LogLines,
}

// firstLine returns the text of a runtime error without the stack trace.
func firstLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return strings.ReplaceAll(text, "wasm error: ", "")
}
