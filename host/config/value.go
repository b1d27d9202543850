package config

import (
	"reflect"
	"strings"
	"time"

	"github.com/parley-wasm/parley/host/config/internal/document"
)

// value reads v into to, a field or an item of a field, according to the type of to and the
// tags of m. It reports whether the caller must store the result. The result is always true
// for objects, so that indexes in an array match the file. owner is the struct that has the
// field.
func (r *reader) value(v value, m *member, to, owner reflect.Value) bool {
	switch p := to.Addr().Interface().(type) {
	case custom:
		p.read(r, v)
		return true
	case *Secret:
		s, ok := r.secret(v, m, owner)
		*p = Secret(s)
		return ok
	case *time.Duration:
		d, ok := r.duration(v, m)
		*p = d
		return ok
	case *[]byte:
		if r.wants(v, document.Object) {
			*p = r.json(nil, v)
		}
		return true
	}
	switch to.Kind() {
	case reflect.Bool:
		if r.wants(v, document.Bool) {
			to.SetBool(v.node.Bool)
		}
	case reflect.Float64:
		r.price(v, to)
	case reflect.Int, reflect.Int64:
		n, ok := r.whole(v, m)
		if ok {
			to.SetInt(n)
		}
		return ok
	case reflect.String:
		s, ok := r.text(v, m)
		if ok {
			to.SetString(s)
		}
		return ok
	case reflect.Struct:
		r.members(v, shapeOf(to.Type()), to)
	case reflect.Pointer:
		p := reflect.New(to.Type().Elem())
		if r.value(v, m, p.Elem(), owner) {
			to.Set(p)
		}
	case reflect.Slice:
		r.list(v, m, to, owner)
	case reflect.Map:
		r.mapping(v, m, to, owner)
	default:
		panic("config: unsupported type of a setting: " + to.Type().String())
	}
	return true
}

// list reads an array into a slice without its invalid strings. For an empty array of
// strings it stores an empty slice, which differs from nil.
func (r *reader) list(v value, m *member, to, owner reflect.Value) {
	if !r.wants(v, document.Array) {
		return
	}
	if to.Type().Elem().Kind() == reflect.String {
		to.Set(reflect.MakeSlice(to.Type(), 0, len(v.node.Items)))
	}
	for i := range v.node.Items {
		item := reflect.New(to.Type().Elem()).Elem()
		if r.value(v.item(i), m, item, owner) {
			to.Set(reflect.Append(to, item))
		}
	}
	if empty := m.tag.Get("empty"); empty != "" && len(v.node.Items) == 0 {
		r.problem(v, "%s", empty)
	}
}

// mapping reads an object with arbitrary member names into a map.
func (r *reader) mapping(v value, m *member, to, owner reflect.Value) {
	to.Set(reflect.MakeMap(to.Type()))
	r.each(v, func(name string, v value) {
		name, ok := r.formatted(v, m.tag.Get("names"), name)
		if !ok {
			return
		}
		key := reflect.ValueOf(name)
		if to.MapIndex(key).IsValid() {
			r.problem(v, "is given twice; names of %s are case-insensitive", m.name)
			return
		}
		if item := reflect.New(to.Type().Elem()).Elem(); r.value(v, m, item, owner) {
			to.SetMapIndex(key, item)
		}
	})
}

// each calls read for the members of an object with arbitrary member names. Blank and
// duplicate names are problems.
func (r *reader) each(v value, read func(name string, v value)) {
	if !r.wants(v, document.Object) {
		return
	}
	seen := map[string]int{} // offsets of names
	for _, m := range v.node.Members {
		name := strings.TrimSpace(m.Name)
		at := v.member(clip(name), m.Value)
		if first, ok := seen[name]; ok {
			r.duplicate(m.Offset, at, first)
		} else if seen[name] = m.Offset; name == "" {
			r.problemAt(m.Offset, v.path, "has a member with a blank name")
		} else {
			read(name, at)
		}
	}
}
