package config

import (
	"slices"
	"strings"

	"github.com/parley-wasm/parley/host/config/internal/document"
)

// variant is a member that objects of some kinds have.
type variant struct {
	field
	kinds  []string
	needed bool
}

// variants reads an object whose member tag is one of the kinds and decides
// which other members it has. It reports whether that kind is known: then *to is
// it, and members of other kinds and lacks are problems.
func (r *reader) variants(v value, tag string, to *string, kinds []string, members ...variant) bool {
	if !r.wants(v, document.Object) {
		return false
	}
	kind := v.tag(tag, kinds) // wherever it stands
	fields := []field{{tag, r.enumInto(to, kinds...)}}
	for _, m := range members {
		fields = append(fields, field{m.name, func(at value) {
			if kind != "" && !slices.Contains(m.kinds, kind) {
				r.problem(at, "is for %s %s", tag, strings.Join(m.kinds, ", "))
				return
			}
			m.read(at)
		}})
	}
	found := r.object(v, fields...)
	if _, ok := found[tag]; !ok {
		r.problem(v, "has no %s; it is one of %s", tag, strings.Join(kinds, ", "))
	}
	for _, m := range members {
		if _, ok := found[m.name]; !ok && m.needed && slices.Contains(m.kinds, kind) {
			r.problem(v, "has no %s, which %s %s needs", m.name, tag, kind)
		}
	}
	return kind != ""
}

// tag returns the object's member of this name if it is one of the kinds, else
// "".
func (v value) tag(name string, kinds []string) string {
	for _, m := range v.node.Members {
		if kind := strings.TrimSpace(m.Value.String); m.Name == name && slices.Contains(kinds, kind) {
			return kind
		}
	}
	return ""
}
