package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/policy"
)

// shape lists the members that an object of the file may have, in the order in which
// problems list them. It is derived from the struct's fields and their tags:
//
//	config   the member's name; with dots, a path through nested objects
//	oneOf    the permitted values of a string
//	range    the minimum and maximum of an integer; a duration with a range is given in milliseconds
//	format   the format of the string or strings, see formats
//	names    the format of the names in a map
//	missing  the problem of an object that lacks the member, or the first member of a path
//	empty    the problem of an empty array
//	for      the kinds of object that may have the member; the shape's first member gives the kind
//	needed   like for, and objects of these kinds must have the member
//	unset    the field that receives the name of a secret's environment variable if the variable is not set
//	guest    when Config.Member shows the member to a guest: always, or if it is set; absent: never
type shape []*member

// member is one member of a shape.
type member struct {
	name    string
	inner   shape // if the path continues: the members below name; their fields are in the same struct
	field   int   // index in the struct
	tag     reflect.StructTag
	kinds   []string // of the tags for and needed
	missing string
}

// tagged maps structs of other packages to structs with the same fields, which have tags.
var tagged = map[reflect.Type]reflect.Type{
	reflect.TypeFor[policy.Send](): reflect.TypeFor[struct {
		Rules   []policy.Rule `config:"rules"`
		Default string        `config:"default" oneOf:"allow deny"`
	}](),
	reflect.TypeFor[policy.Rule](): reflect.TypeFor[struct {
		Channel   string `config:"match.channel" format:"lower" missing:"has no match; write match: {} if it is for every session"`
		ChatType  string `config:"match.chatType" oneOf:"direct group channel"`
		KeyPrefix string `config:"match.keyPrefix"`
		Action    string `config:"action" oneOf:"allow deny" missing:"has no action; write allow or deny"`
	}](),
	reflect.TypeFor[policy.Tools](): reflect.TypeFor[struct {
		Allow []string `config:"allow" format:"toolPattern" guest:"always"`
		Deny  []string `config:"deny" format:"toolPattern" guest:"always"`
	}](),
	reflect.TypeFor[abi.Usage](): reflect.TypeFor[struct {
		Input  *int64   `config:"input" range:"0 1000000000"`
		Output *int64   `config:"output" range:"0 1000000000"`
		Total  *int64   // not a setting
		Cost   *float64 // not a setting: computed from the prices
	}](),
}

var shapes sync.Map // by reflect.Type

// shapeOf returns the shape of the objects that are read into a struct type.
func shapeOf(t reflect.Type) shape {
	if s, ok := shapes.Load(t); ok {
		return s.(shape)
	}
	from := t
	if d, ok := tagged[t]; ok {
		if !d.ConvertibleTo(t) {
			panic("config: " + t.String() + " and its tagged copy have different fields")
		}
		from = d
	}
	var s shape
	for i := range from.NumField() {
		if tag := from.Field(i).Tag; tag.Get("config") != "" {
			s.add(tag.Get("config"), tag.Get("missing"), &member{field: i, tag: tag, kinds: strings.Fields(tag.Get("for") + " " + tag.Get("needed"))})
		}
	}
	shapes.Store(t, s)
	return s
}

// add inserts a member at a path.
func (s *shape) add(path, missing string, m *member) {
	name, rest, inner := strings.Cut(path, ".")
	if !inner {
		m.name, m.missing = name, missing
		*s = append(*s, m)
		return
	}
	outer := s.find(name)
	if outer == nil {
		outer = &member{name: name, missing: missing}
		*s = append(*s, outer)
	}
	outer.inner.add(rest, "", m)
}

func (s shape) find(name string) *member {
	if i := slices.IndexFunc(s, func(m *member) bool { return m.name == name }); i >= 0 {
		return s[i]
	}
	return nil
}

// oneOf returns the permitted values of a string, or nothing if any value is permitted.
func (m *member) oneOf() []string { return strings.Fields(m.tag.Get("oneOf")) }

// limits returns the minimum and maximum of an integer.
func (m *member) limits() (low, high int64) {
	if _, err := fmt.Sscan(m.tag.Get("range"), &low, &high); err != nil {
		panic("config: invalid range of " + m.name + ": " + err.Error())
	}
	return low, high
}
