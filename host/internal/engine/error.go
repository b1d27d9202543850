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

// Kind says what went wrong with a plugin. It is itself an error, so that
// errors.Is(err, engine.Deadline) works on every wrapped *Error.
type Kind string

// Kinds of errors. The first group means that the module cannot be used at all.
const (
	NotAModule     Kind = "not a module"
	BadImport      Kind = "bad import"      // it asks for something that plugins do not get
	MissingExport  Kind = "missing export"  // it lacks an export, or has one that hosts would not call
	BadSignature   Kind = "bad signature"   // of an import or export
	WrongABI       Kind = "wrong ABI"       // it speaks another version
	BadDescription Kind = "bad description" // describe answers something else than a description

	Trap     Kind = "trap"      // the plugin crashed
	Failed   Kind = "failed"    // the plugin says that the call failed
	Canceled Kind = "canceled"  // the caller's context ended
	HostCall Kind = "host call" // a host function failed, panicked, or took until the step's time was over
	Closed   Kind = "closed"    // the plugin or the engine is closed
)

// Kinds of errors of a step that needs more than it may have: Limits says of what.
const (
	Fuel      Kind = "limit: fuel"
	Time      Kind = "limit: time"
	Stack     Kind = "limit: stack"
	Memory    Kind = "limit: memory"
	HostCalls Kind = "limit: host calls"
	BytesIn   Kind = "limit: bytes in"
	BytesOut  Kind = "limit: bytes out"
	LogLines  Kind = "limit: log lines"

	// Of those that serve host functions.
	Runs       Kind = "limit: runs"
	Deliveries Kind = "limit: deliveries"
)

func (k Kind) Error() string { return string(k) }

// code is what the kind means to a caller of a tool.
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

// Setting is the name in the configuration of what a step has of it, or "" if that
// cannot be changed.
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

// IsLimit reports whether a step needed more than it may have.
func (k Kind) IsLimit() bool { return strings.HasPrefix(string(k), "limit: ") }

// Error is every error of this package that concerns a plugin. It matches its
// Kind, the abi.Code that the kind means (Limit, Unsupported, InvalidArgs, else
// Internal) and its cause with errors.Is and errors.As.
type Error struct {
	Op      string // load, start, describe, call, resume
	Kind    Kind
	Message string // one line
	Cause   error  // may be nil; of a trap, its text has the stack trace
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

// canceled is the error of a call whose caller did not wait for it, as why says.
func canceled(op string, reason, cause error) *Error {
	message := "stopped because the caller has gone"
	if errors.Is(reason, context.DeadlineExceeded) {
		message = "stopped because the caller's time is over"
	}
	return &Error{op, Canceled, message, cause}
}

// explain makes an *Error of what an instance returned. memory is the size of the
// guest's memory when it happened.
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
	case errors.As(err, &own): // of a host function
		out.Kind, out.Message = own.Kind, own.Message
	case errors.Is(err, instance.ErrClosed):
		out.Kind, out.Message = Closed, err.Error()
	case errors.Is(err, instance.ErrFuel):
		out.Kind, out.Message = Fuel, fmt.Sprintf("the step used up its %d units", l.Fuel)
	case errors.Is(err, instance.ErrTime):
		out.Kind, out.Message = Time, fmt.Sprintf("the step was stopped; it has %v at most", l.StepTimeout)
	case errors.As(err, &ended):
		return canceled(op, ended.Cause, err)
	case errors.Is(err, instance.ErrStack):
		out.Kind, out.Message = Stack, "the step's calls are nested too deeply: stack overflow"
	case errors.As(err, &failed):
		out.Kind, out.Message = Failed, failed.Error()
	case errors.As(err, &fault):
		out.Kind, out.Message = faultKinds[fault.Kind], fault.Reason
	case uint64(memory)*2 > uint64(l.MemoryMiB)<<20:
		// A guest that gets no more memory can only crash, and does not say why.
		// Allocators double the memory, so that more than half of it in use is the
		// best sign there is.
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

// firstLine is the runtime's error without its stack trace.
func firstLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return strings.ReplaceAll(text, "wasm error: ", "")
}
