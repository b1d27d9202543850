package extismenv

import "fmt"

// FaultKind says why the environment ended a call.
type FaultKind int

// Kinds of faults.
const (
	Access    FaultKind = iota // an offset or length that names no bytes of the plugin's
	Refused                    // a function that this environment does not serve
	Host                       // the program behind the host functions failed
	Memory                     // limits: the environment's memory
	In                         // bytes that go to the plugin
	Out                        // bytes that come from it
	HostCalls                  //
	LogLines                   //
)

// Fault is the error with which the environment traps a plugin. It is found in
// the error of the call with errors.As.
type Fault struct {
	Kind   FaultKind
	Reason string
	Cause  error // what a host function failed with, if it did
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

// check traps on a fault: the runtime turns the panic into the call's error.
func check(f *Fault) {
	if f != nil {
		panic(f)
	}
}
