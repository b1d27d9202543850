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
// problems name them. It follows from the struct's fields and their tags:
//
//	config   the member's name; with dots, the path of a member of objects within the object
//	oneOf    the words that a text may be
//	range    the lowest and the highest whole number; a duration with a range is a number of milliseconds
//	format   the name of the texts' format, see formats
//	names    the format of the names in a map
//	missing  the problem with an object that lacks the member; of a path, its first member
//	empty    the problem with an empty array
//	for      the kinds of object that may have the member; the first member says the object's kind
//	needed   the same, and objects of these kinds must have it
//	unset    the field for the name of an environment variable that should hold the secret, if it is not set
//	guest    that a guest may see the member: always, or only if it is set (see Config.Member)
type shape []*member

type member struct {
	name    string
	inner   shape // set for an object whose members are fields of the same struct
	field   int
	tag     reflect.StructTag
	kinds   []string
	missing string
}

// described are structs with the fields of structs of other packages, and tags.
var described = map[reflect.Type]reflect.Type{
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
		Total  *int64   // what is not known is not given
		Cost   *float64 // follows from the prices
	}](),
}

var shapes sync.Map // by reflect.Type

// shapeOf returns the shape of the objects that are read into a struct.
func shapeOf(t reflect.Type) shape {
	if s, ok := shapes.Load(t); ok {
		return s.(shape)
	}
	from := t
	if d, ok := described[t]; ok {
		if !d.ConvertibleTo(t) {
			panic("config: " + t.String() + " has other fields")
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

// add adds a member at a path.
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

// words are those that a text may be; none: any.
func (m *member) words() []string { return strings.Fields(m.tag.Get("oneOf")) }

// limits are the lowest and the highest whole number.
func (m *member) limits() (low, high int64) {
	if _, err := fmt.Sscan(m.tag.Get("range"), &low, &high); err != nil {
		panic("config: the range of " + m.name + ": " + err.Error())
	}
	return low, high
}
