package extismenv

import "fmt"

// FaultKind says why the environment ended a call.
type FaultKind int

// Kinds of faults.
const (
	Access  FaultKind = iota // an offset or length that names no allocated bytes
	Memory                   // the environment's memory is used up
	Output                   // the output is too large
	Refused                  // a function that this environment does not serve
	Host                     // the program behind the host functions failed
)

// Fault is the error with which the environment traps a plugin. It is found in
// the error of the call with errors.As.
type Fault struct {
	Kind   FaultKind
	Reason string
}

func (f *Fault) Error() string { return f.Reason }

func accessf(format string, args ...any) *Fault {
	return &Fault{Access, fmt.Sprintf(format, args...)}
}

func limitf(format string, args ...any) *Fault {
	return &Fault{Memory, fmt.Sprintf(format, args...)}
}

// check traps on a fault: the runtime turns the panic into the call's error.
func check(f *Fault) {
	if f != nil {
		panic(f)
	}
}
