package extismenv

import "fmt"

// FaultKind is the reason for which the environment ended a call.
type FaultKind int

// Kinds of faults.
const (
	Access    FaultKind = iota // an offset or length outside of the plugin's bytes
	Refused                    // the environment does not provide the function
	Host                       // a host function failed
	Memory                     // limit: the environment's memory
	In                         // limit: bytes to the plugin
	Out                        // limit: bytes from the plugin
	HostCalls                  // limit: calls of host functions
	LogLines                   // limit: lines to log
)

// Fault is the error with which the environment traps a plugin. errors.As finds it in
// the error of the call.
type Fault struct {
	Kind   FaultKind
	Reason string
	Cause  error // the error of a host function; may be nil
}

func (f *Fault) Error() string { return f.Reason }

func (f *Fault) Unwrap() error { return f.Cause }

func faultf(k FaultKind, format string, args ...any) *Fault {
	return &Fault{Kind: k, Reason: fmt.Sprintf(format, args...)}
}

func accessf(format string, args ...any) *Fault {
	return faultf(Access, format, args...)
}

func limitf(format string, args ...any) *Fault {
	return faultf(Memory, format, args...)
}

// check traps on a fault: the runtime turns the panic into the error of the call.
func check(f *Fault) {
	if f != nil {
		panic(f)
	}
}
