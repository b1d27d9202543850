package jsonobject

import (
	"strings"

	"github.com/parley-wasm/parley/abi/jsonappend"
)

// Problem is the reason why an object was refused.
type Problem struct {
	Fault Fault
	Path  string   // path of the object in the document, such as "event.run" or "tools.0"; "": the document
	Name  string   // name of the member
	Kind  Kind     // expected kind; nil if the member is unknown
	Known []string // known members of the object, if this one is unknown
}

// Fault is the kind of a problem.
type Fault uint8

// The faults.
const (
	Unknown Fault = iota + 1 // a member that the table does not have
	Missing
	Empty // an empty Name
	Wrong // a value of another kind
)

// Document reports whether the problem is that the document itself is not an object.
func (p *Problem) Document() bool { return p.Path == "" && p.Name == "" && p.Fault != Unknown }

// Error describes the problem. Code that needs other texts can build them from the
// fields.
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

// within prefixes the problem's path with the name of the member that contains the
// object.
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
