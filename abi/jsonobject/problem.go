package jsonobject

import (
	"strings"

	"github.com/parley-wasm/parley/abi/jsonappend"
)

// Problem is why an object was refused.
type Problem struct {
	Fault Fault
	Path  string   // of the object in the document, such as "event.run" or "tools.0"; "" is the document
	Name  string   // of the member
	Kind  Kind     // what the value must be; nil when the member is unknown
	Known []string // the members that the object may have, when this one is unknown
}

// Fault is what is wrong with a value.
type Fault uint8

// The faults.
const (
	Unknown Fault = iota + 1 // the object may not have the member
	Missing
	Empty // a Name without a character
	Wrong // a value of another kind
)

// Document reports whether the document itself is at fault, because it is not an object.
func (p *Problem) Document() bool { return p.Path == "" && p.Name == "" && p.Fault != Unknown }

// Error says what is wrong. A side of the ABI that has words of its own makes them of the
// parts.
func (p *Problem) Error() string {
	what := p.Name
	switch {
	case p.Path != "":
		what = p.Path + "." + p.Name
	case p.Document():
		what = "the document"
	}
	switch p.Fault {
	case Unknown:
		return "unknown member " + string(jsonappend.String(nil, what)) + "; known are " + strings.Join(p.Known, ", ")
	case Missing:
		return what + " is missing"
	case Empty:
		return what + " is empty"
	}
	return what + " must be " + p.Kind.String()
}

// within says that the value is the member name of another one.
func (p *Problem) within(name string) *Problem {
	switch {
	case p.Document():
		p.Name = name
	case p.Path == "":
		p.Path = name
	default:
		p.Path = name + "." + p.Path
	}
	return p
}
