package config

import (
	"reflect"
	"testing"
)

// TestTags checks the tags of all settings: formats are known, ranges are valid, and guests
// see no secrets.
func TestTags(t *testing.T) {
	seen := map[reflect.Type]bool{}
	secrets := 0
	var object func(reflect.Type)
	var members func(reflect.Type, shape)
	members = func(of reflect.Type, s shape) {
		for _, m := range s {
			if m.inner != nil {
				members(of, m.inner)
				continue
			}
			field := of.Field(m.field).Type
			for _, format := range []string{m.tag.Get("format"), m.tag.Get("names")} {
				if formats[format] == nil && format != "" && format != "exact" {
					t.Errorf("%s.%s: unknown format %s", of, m.name, format)
				}
			}
			if m.tag.Get("range") != "" || field.Kind() == reflect.Int {
				if low, high := m.limits(); low >= high {
					t.Errorf("%s.%s: empty range from %d to %d", of, m.name, low, high)
				}
			}
			if guest := m.tag.Get("guest"); guest != "" && guest != "always" && guest != "set" {
				t.Errorf("%s.%s: invalid guest tag %s", of, m.name, guest)
			}
			if field == reflect.TypeFor[Secret]() || field == reflect.TypeFor[map[string]Secret]() {
				secrets++
				if _, ok := of.FieldByName(m.tag.Get("unset")); !ok {
					t.Errorf("%s.%s: no field for the name of an unset variable", of, m.name)
				}
				if m.tag.Get("guest") != "" {
					t.Errorf("%s.%s is a secret with a guest tag", of, m.name)
				}
			}
			object(field)
		}
	}
	object = func(of reflect.Type) {
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map {
			of = of.Elem()
		}
		if of.Kind() == reflect.Struct && !seen[of] {
			seen[of] = true
			members(of, shapeOf(of))
		}
	}
	object(reflect.TypeFor[Config]())
	if secrets != 5 || len(seen) < 20 {
		t.Errorf("found only %d secrets in %d structs", secrets, len(seen))
	}
}
