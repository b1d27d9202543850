package jsonobject

import "github.com/tidwall/gjson"

// row describes a member, except for the location of its value.
type row struct {
	name     string
	kind     Kind
	presence presence
}

// presence determines when a member is written and whether it may be absent.
type presence uint8

const (
	optional presence = iota
	always
	required
)

type rows []row

// read reads an object and stores member i at at(i).
func (t rows) read(v gjson.Result, mode Mode, at func(i int) any) (bad *Problem) {
	if mode != Tolerant && !v.IsObject() {
		return &Problem{Fault: Wrong, Kind: Object}
	}
	next := 0
	var seen uint64 // a bit for each member
	v.ForEach(func(name, v gjson.Result) bool {
		i := t.find(name.Str, next)
		if i == len(t) {
			if mode == Strict || mode == Nullable {
				bad = &Problem{Fault: Unknown, Name: name.Str, Known: t.names()}
			}
			return bad == nil
		}
		if mode == Nullable && v.Type == gjson.Null {
			return true
		}
		next = i + 1
		seen |= 1 << i
		if mode != Tolerant {
			bad = t[i].set(at(i), v, mode)
			return bad == nil
		}
		to := at(i)
		if text, ok := to.(*string); ok { // most members
			*text = v.Str
		} else {
			set(to, v, Tolerant)
		}
		return true
	})
	if bad != nil {
		return bad
	}
	return t.missing(seen)
}

// find returns the index of a member, or len(t) if the table does not have it. The
// search starts at next, because most objects have their members in the table's order.
func (t rows) find(name string, next int) int {
	for i := next; i < len(t); i++ {
		if t[i].name == name {
			return i
		}
	}
	for i := range t[:next] {
		if t[i].name == name {
			return i
		}
	}
	return len(t)
}

func (t rows) names() []string {
	all := make([]string, len(t))
	for i := range t {
		all[i] = t[i].name
	}
	return all
}

func (t rows) missing(seen uint64) *Problem {
	for i := range t {
		if t[i].presence == required && seen&(1<<i) == 0 {
			return &Problem{Fault: Missing, Name: t[i].name, Kind: t[i].kind}
		}
	}
	return nil
}

// set stores v if it is of the member's kind.
func (r *row) set(at any, v gjson.Result, mode Mode) *Problem {
	if fault := r.kind.Check(v); fault != 0 {
		return &Problem{Fault: fault, Name: r.name, Kind: r.kind}
	}
	if bad := set(at, v, mode); bad != nil {
		return bad.within(r.name)
	}
	return nil
}
