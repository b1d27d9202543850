package jsonobject

// Problem is why an object was refused.
type Problem struct {
	Fault Fault
	Path  string // of the object in the document, such as "event.run"; "" is the document
	Name  string // of the member
	Kind  Kind   // what the member must be; nil when it is unknown
}

// Fault is what is wrong with a member, or with the object.
type Fault uint8

// The faults.
const (
	NoObject Fault = iota + 1
	Unknown        // the object may not have the member
	Missing
	Empty // a Name without a character
	Wrong // a value of another kind
)

// Error says what is wrong. A side of the ABI that has words of its own makes them of the
// parts.
func (p *Problem) Error() string {
	what := p.Name
	if p.Path != "" {
		what = p.Path
		if p.Name != "" {
			what += "." + p.Name
		}
	}
	switch p.Fault {
	case NoObject:
		return what + " must be an object"
	case Unknown:
		return what + " is an unknown member"
	case Missing:
		return what + " is missing"
	case Empty:
		return what + " is empty"
	}
	return what + " must be " + p.Kind.String()
}

// within says that the object is the member name of another one.
func (p *Problem) within(name string) {
	if p.Path != "" {
		name += "." + p.Path
	}
	p.Path = name
}
