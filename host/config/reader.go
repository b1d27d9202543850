package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-wasm/parley/host/config/internal/document"
)

// reader collects problems while the settings are read. Its methods report
// false when there is nothing to take: the default stays in place.
type reader struct {
	file     string
	doc      *document.Document
	problems Errors
}

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

func (r *reader) problem(v value, format string, args ...any) {
	r.problemAt(v.node.Offset, v.path, format, args...)
}

func (r *reader) problemAt(offset int, path, format string, args ...any) {
	p := &Problem{File: r.file, Path: path, Message: fmt.Sprintf(format, args...)}
	p.Line, p.Column = r.doc.Position(offset)
	r.problems = append(r.problems, p)
}

// wants reports whether v is of the kind, and a problem if not.
func (r *reader) wants(v value, kind document.Kind) bool {
	if v.node.Kind == kind {
		return true
	}
	r.problem(v, "is %s; it must be %s", v.node.Kind, kind)
	return false
}

// field reads one member of an object.
type field struct {
	name string
	read func(value)
}

// object reads the members that fields name. Others, and repeated ones, are
// problems. It returns the members found, by name.
func (r *reader) object(v value, fields ...field) map[string]value {
	if !r.wants(v, document.Object) {
		return nil
	}
	found := make(map[string]value, len(fields))
	for _, m := range v.node.Members {
		at := v.member(m.Name, m.Value)
		if first, ok := found[m.Name]; ok {
			line, _ := r.doc.Position(first.node.Offset)
			r.problemAt(m.Offset, at.path, "is given twice; the first is on line %d", line)
			continue
		}
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == m.Name })
		if i < 0 {
			r.unknown(v, m, fields)
			continue
		}
		found[m.Name] = at
		fields[i].read(at)
	}
	return found
}

// needs reports what an object lacks; found is nil if it is none.
func (r *reader) needs(v value, found map[string]value, names ...string) {
	for _, name := range names {
		if _, ok := found[name]; !ok && found != nil {
			r.problem(v, "has no %s", name)
		}
	}
}

// each reads the members of an object whose names are the file's own. Blank and
// repeated names are problems.
func (r *reader) each(v value, read func(name string, v value)) {
	if !r.wants(v, document.Object) {
		return
	}
	seen := map[string]document.Member{}
	for _, m := range v.node.Members {
		name := strings.TrimSpace(m.Name)
		at := v.member(clip(name), m.Value)
		if first, ok := seen[name]; ok {
			line, _ := r.doc.Position(first.Offset)
			r.problemAt(m.Offset, at.path, "is given twice; the first is on line %d", line)
		} else if seen[name] = m; name == "" {
			r.problemAt(m.Offset, v.path, "has a member with a blank name")
		} else {
			read(name, at)
		}
	}
}

func (r *reader) unknown(v value, m document.Member, fields []field) {
	names := make([]string, len(fields))
	for i, f := range fields {
		if strings.EqualFold(f.name, m.Name) {
			r.problemAt(m.Offset, v.member(clip(m.Name), nil).path, "is an unknown name; did you mean %s?", f.name)
			return
		}
		names[i] = f.name
	}
	r.problemAt(m.Offset, v.member(clip(m.Name), nil).path,
		"is an unknown name, or a setting that this version does not know; known here: %s", strings.Join(names, ", "))
}

// text reads a string that is not blank, trimmed.
func (r *reader) text(v value) (string, bool) {
	if !r.wants(v, document.String) {
		return "", false
	}
	s := strings.TrimSpace(v.node.String)
	if s == "" {
		r.problem(v, "is blank; leave it out, or give it a value")
	}
	return s, s != ""
}

func (r *reader) textInto(to *string) func(value) {
	return func(v value) {
		if s, ok := r.text(v); ok {
			*to = s
		}
	}
}

// textsInto reads an array of strings that are not blank.
func (r *reader) textsInto(to *[]string) func(value) {
	return func(v value) {
		*to = []string{}
		r.list(v, func(v value) {
			if s, ok := r.text(v); ok {
				*to = append(*to, s)
			}
		})
	}
}

func (r *reader) boolInto(to *bool) func(value) {
	return func(v value) {
		if r.wants(v, document.Bool) {
			*to = v.node.Bool
		}
	}
}

// enumInto reads one of the words, which are case-sensitive.
func (r *reader) enumInto(to *string, words ...string) func(value) {
	return func(v value) {
		switch s, ok := r.text(v); {
		case !ok:
		case !slices.Contains(words, s):
			r.problem(v, "%q is not one of %s", clip(s), strings.Join(words, ", "))
		default:
			*to = s
		}
	}
}

// intInto reads a whole number between low and high.
func (r *reader) intInto(to *int, low, high int) func(value) {
	return func(v value) {
		if !r.wants(v, document.Number) {
			return
		}
		f := v.node.Number
		if f != math.Trunc(f) || f < float64(low) || f > float64(high) { // also infinite
			r.problem(v, "is %s; it must be a whole number from %d to %d", number(f), low, high)
			return
		}
		*to = int(f)
	}
}

// priceInto reads an amount of dollars.
func (r *reader) priceInto(to *float64) func(value) {
	return func(v value) {
		if !r.wants(v, document.Number) {
			return
		}
		if f := v.node.Number; f >= 0 && !math.IsInf(f, 1) {
			*to = f
		} else {
			r.problem(v, "is %s; it must be a price in dollars, 0 or more", number(f))
		}
	}
}

func number(f float64) string {
	if math.Abs(f) < 1e15 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// list reads each item of an array with item.
func (r *reader) list(v value, item func(value)) bool {
	if !r.wants(v, document.Array) {
		return false
	}
	for i := range v.node.Items {
		item(v.item(i))
	}
	return true
}

// clip keeps texts from the file short in messages.
func clip(s string) string {
	const most = 60
	for i := range s {
		if i >= most {
			return s[:i] + "…"
		}
	}
	return s
}
