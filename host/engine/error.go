package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tetratelabs/wazero/sys"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/engine/extismenv"
	"github.com/parley-wasm/parley/host/engine/instance"
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

	Trap           Kind = "trap"             // the plugin crashed
	Failed         Kind = "failed"           // the plugin says that the call failed
	Deadline       Kind = "deadline"         // the call took too long
	Canceled       Kind = "canceled"         // the caller's context was canceled
	Memory         Kind = "memory"           // the plugin needs more than it may have
	OutputTooLarge Kind = "output too large" //
	HostCall       Kind = "host call"        // a host function panicked
	Closed         Kind = "closed"           // the plugin or the engine is closed
)

func (k Kind) Error() string { return string(k) }

// code is what the kind means to a caller of a tool.
func (k Kind) code() abi.Code {
	switch k {
	case NotAModule, BadImport, MissingExport, BadSignature, BadDescription:
		return abi.InvalidArgs
	case WrongABI:
		return abi.Unsupported
	case Deadline, Memory, OutputTooLarge:
		return abi.Limit
	}
	return abi.Internal
}

// Error is every error of this package that concerns a plugin. It matches its
// Kind, the abi.Code that the kind means (Limit, Unsupported, InvalidArgs, else
// Internal) and its cause with errors.Is and errors.As.
type Error struct {
	Op      string // load, start, describe, call, resume
	Kind    Kind
	Message string // one line
	Cause   error  // may be nil; of a trap, its text has the stack trace
}

func (e *Error) Error() string { return "engine: " + e.Op + ": " + e.Message }

func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Kind, e.Kind.code()}
	}
	return []error{e.Kind, e.Kind.code(), e.Cause}
}

func errorf(op string, k Kind, format string, args ...any) *Error {
	return &Error{Op: op, Kind: k, Message: fmt.Sprintf(format, args...)}
}

// explain makes an *Error of what an instance returned. memory is the size of the
// guest's memory when it happened.
func (e *Engine) explain(op string, err error, memory uint32) *Error {
	out := &Error{Op: op, Kind: Trap, Cause: err}
	limits := &e.options.Limits
	var (
		fault  *extismenv.Fault
		failed *instance.Failed
		exit   *sys.ExitError
	)
	switch {
	case errors.Is(err, instance.ErrClosed):
		out.Kind, out.Message = Closed, err.Error()
	case errors.As(err, &failed):
		out.Kind, out.Message = Failed, failed.Error()
	case errors.As(err, &fault):
		out.Kind, out.Message = faultKinds[fault.Kind], fault.Reason
	case errors.As(err, &exit) && exit.ExitCode() == sys.ExitCodeDeadlineExceeded, errors.Is(err, context.DeadlineExceeded):
		out.Kind, out.Message = Deadline, fmt.Sprintf("stopped at its deadline; a step has %v at most", limits.StepTimeout)
	case exit != nil && exit.ExitCode() == sys.ExitCodeContextCanceled, errors.Is(err, context.Canceled):
		out.Kind, out.Message = Canceled, "stopped because the caller has gone"
	case uint64(memory)*2 > uint64(limits.MemoryMiB)<<20:
		// A guest that gets no more memory can only crash, and does not say why.
		// Allocators double the memory, so that more than half of it in use is the
		// best sign there is.
		out.Kind = Memory
		out.Message = fmt.Sprintf("trap: %s, with %d of at most %d MiB of memory in use", firstLine(err), memory>>20, limits.MemoryMiB)
	default:
		out.Message = "trap: " + firstLine(err)
	}
	return out
}

var faultKinds = map[extismenv.FaultKind]Kind{
	extismenv.Access:  Trap,
	extismenv.Refused: Trap,
	extismenv.Memory:  Memory,
	extismenv.Output:  OutputTooLarge,
	extismenv.Host:    HostCall,
}

// firstLine is the runtime's error without its stack trace.
func firstLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return strings.ReplaceAll(text, "wasm error: ", "")
}
