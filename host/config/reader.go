package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/parley-wasm/parley/host/config/internal/document"
)

// reader reads the file into structs according to their shapes, and collects problems. If
// there is a problem, Parse discards the structs, so their contents do not matter.
type reader struct {
	file     string
	doc      *document.Document
	problems Errors
}

// custom is implemented by settings with rules that tags cannot express. Most read methods
// call reader.object first.
type custom interface{ read(r *reader, v value) }

// value is a node with its path.
type value struct {
	path string
	node *document.Node
}

func (v value) member(name string, n *document.Node) value {
	if v.path == "" {
		return value{name, n}
	}
	return value{v.path + "." + name, n}
}

func (v value) item(i int) value {
	return value{fmt.Sprintf("%s[%d]", v.path, i), v.node.Items[i]}
}

// get returns the value at a path of member names. If the file has no such member, the
// value's node is empty.
func (v value) get(names ...string) value {
	for _, name := range names {
		n := &document.Node{}
		if i := slices.IndexFunc(v.node.Members, func(m document.Member) bool { return m.Name == name }); i >= 0 {
			n = v.node.Members[i].Value
		}
		v = v.member(name, n)
	}
	return v
}

func (v value) given() bool { return v.node.Kind != "" }

// object reads the members of an object into the struct that to points to. Unknown,
// duplicate and missing members are problems. It reports whether v is an object.
func (r *reader) object(v value, to any) bool {
	s := reflect.ValueOf(to).Elem()
	return r.members(v, shapeOf(s.Type()), s)
}

func (r *reader) members(v value, s shape, to reflect.Value) bool {
	if !r.wants(v, document.Object) {
		return false
	}
	kind := s.kind(v)
	found := map[string]*document.Node{}
	for _, m := range v.node.Members {
		at := v.member(m.Name, m.Value)
		known := s.find(m.Name)
		switch first := found[m.Name]; {
		case known == nil:
			r.unknown(v, m, s)
			continue
		case first != nil:
			r.duplicate(m.Offset, at, first.Offset)
			continue
		case known.inner != nil:
			r.members(at, known.inner, to)
		case kind != "" && len(known.kinds) > 0 && !slices.Contains(known.kinds, kind):
			r.problem(at, "applies only to %s %s", s[0].name, strings.Join(known.kinds, ", "))
		default:
			r.value(at, known, to.Field(known.field), to)
		}
		found[m.Name] = m.Value
	}
	for _, m := range s {
		switch {
		case found[m.name] != nil:
		case m.missing != "":
			r.problem(v, "%s", m.missing)
		case slices.Contains(strings.Fields(m.tag.Get("needed")), kind):
			r.problem(v, "has no %s, which %s %s needs", m.name, s[0].name, kind)
		}
	}
	return true
}

// kind returns the object's kind: the value of the member that is first in the shape,
// wherever the object has it. It returns "" if that member is missing or invalid.
func (s shape) kind(v value) string {
	for _, m := range v.node.Members {
		if kind := strings.TrimSpace(m.Value.String); m.Name == s[0].name && slices.Contains(s[0].oneOf(), kind) {
			return kind
		}
	}
	return ""
}

func (r *reader) unknown(v value, m document.Member, s shape) {
	names := make([]string, len(s))
	at := v.member(clip(m.Name), nil).path
	for i, known := range s {
		if strings.EqualFold(known.name, m.Name) {
			r.problemAt(m.Offset, at, "is an unknown name; did you mean %s?", known.name)
			return
		}
		names[i] = known.name
	}
	r.problemAt(m.Offset, at, "is an unknown name, or a setting that this version does not know; known here: %s", strings.Join(names, ", "))
}

func (r *reader) duplicate(offset int, v value, first int) {
	line, _ := r.doc.Position(first)
	r.problemAt(offset, v.path, "is given twice; the first is on line %d", line)
}

// wants reports whether v has the kind. If not, it adds a problem.
func (r *reader) wants(v value, kind document.Kind) bool {
	if v.node.Kind == kind {
		return true
	}
	r.problem(v, "is %s; it must be %s", v.node.Kind, kind)
	return false
}

func (r *reader) problem(v value, format string, args ...any) {
	r.problemAt(v.node.Offset, v.path, format, args...)
}

func (r *reader) problemAt(offset int, path, format string, args ...any) {
	p := &Problem{File: r.file, Path: path, Message: fmt.Sprintf(format, args...)}
	p.Line, p.Column = r.doc.Position(offset)
	r.problems = append(r.problems, p)
}

// valid reports whether neither v nor a member of it has a problem so far.
func (r *reader) valid(v value) bool {
	return !slices.ContainsFunc(r.problems, func(p *Problem) bool {
		return p.Path == v.path || strings.HasPrefix(p.Path, v.path+".")
	})
}

// clip truncates a text of the file for a message.
func clip(s string) string {
	const most = 60
	for i := range s {
		if i >= most {
			return s[:i] + "…"
		}
	}
	return s
}
