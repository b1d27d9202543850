package wasmedit

import "slices"

// IDs of subsections of the custom section "name".
const (
	namesOfModule    = 0
	namesOfFunctions = 1
	namesOfLocals    = 2
)

// dropCustoms drops all custom sections except one well-formed name section, whose
// names appear in the stack traces of traps. Debugging information would not match the
// rewritten code. A malformed name section is dangerous: if its counts are too large,
// wazero allocates gigabytes.
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

// validNames reports whether a custom section is a name section whose counts and sizes
// are exact.
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

// names reads a vector of indices and names.
func (r *reader) names() {
	each(r, 2, func() { r.u32(); r.name() })
}
