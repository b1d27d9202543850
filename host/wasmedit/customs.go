package wasmedit

import "slices"

// Subsections of the custom section "name" that engines read.
const (
	namesOfModule    = 0
	namesOfFunctions = 1
	namesOfLocals    = 2
)

// dropCustoms drops the custom sections, but for the names that traces of traps
// show. Debugging information is wrong in rewritten code. And engines read both kinds
// carelessly, since it is not part of the module proper: wazero makes room for as
// many names as are announced, gigabytes for a few bytes.
func (m *Module) dropCustoms() {
	names := false
	m.Customs = nil
	m.sections = slices.DeleteFunc(m.sections, func(s section) bool {
		if s.id != idCustom {
			return false
		}
		if names || !validNames(s.body) {
			return true
		}
		names = true
		m.Customs = append(m.Customs, "name")
		return false
	})
}

// namesAreWell reports whether a custom section is one of names and has exactly what
// it announces.
func validNames(body []byte) bool {
	r := &reader{data: body}
	if r.name() != "name" {
		return false
	}
	for !r.done() {
		id := r.byte()
		b := r.bytes(int(r.u32()))
		s := &reader{data: b}
		switch id {
		case namesOfModule:
			s.name()
		case namesOfFunctions:
			s.names()
		case namesOfLocals:
			each(s, 2, func() { s.u32(); s.names() })
		default:
			continue
		}
		if s.err != nil || !s.done() {
			return false
		}
	}
	return r.err == nil
}

// names reads a vector of indices and their names.
func (r *reader) names() {
	each(r, 2, func() { r.u32(); r.name() })
}
