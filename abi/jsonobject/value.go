package jsonobject

import (
	"math"
	"strconv"
	"unsafe"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi/jsonappend"
)

// set stores the value v. A value of another type leaves an *int64, a *float64 or a nested
// object unchanged, and sets any other field to zero or nil.
func set(at any, v gjson.Result, mode Mode) *Problem {
	switch to := at.(type) {
	case *string:
		*to = v.Str
	case *int64:
		*to = whole(v)
	case *bool:
		*to = v.Type == gjson.True
	case *int:
		*to = int(max(math.MinInt, min(math.MaxInt, whole(v))))
	case **int64:
		if v.Type == gjson.Number {
			n := v.Int()
			*to = &n
		}
	case **bool:
		*to = boolPointer(v)
	case *[]byte:
		*to = View(v)
	case *[]string:
		*to = texts(v)
	case **float64:
		if v.Type == gjson.Number {
			n := v.Num
			*to = &n
		}
	case Reader:
		return to.ReadJSON(v, mode)
	}
	return nil
}

// whole returns a number without its fraction. It returns 0 for any other value, even a
// string of digits.
func whole(v gjson.Result) int64 {
	if v.Type != gjson.Number {
		return 0
	}
	return v.Int()
}

var yes, no = true, false // results of boolPointer; never written

func boolPointer(v gjson.Result) *bool {
	switch v.Type {
	case gjson.True:
		return &yes
	case gjson.False:
		return &no
	}
	return nil
}

func texts(v gjson.Result) []string {
	if !v.IsArray() {
		return nil
	}
	all := []string{}
	v.ForEach(func(_, v gjson.Result) bool {
		all = append(all, v.Str)
		return true
	})
	return all
}

// View returns the JSON text of v without a copy, because messages are large and the
// guest's garbage collector would scan every copy. The caller must not write to the
// bytes.
func View(v gjson.Result) []byte { return unsafe.Slice(unsafe.StringData(v.Raw), len(v.Raw)) }

// append appends the member. It omits an optional member that is zero.
func (r *row) append(b []byte, at any) []byte {
	name, optional := r.name, r.presence == optional
	switch v := at.(type) {
	case *string:
		if !optional || *v != "" {
			b = jsonappend.String(key(b, name), *v)
		}
	case *int64:
		b = appendInt(b, name, optional, *v)
	case *bool:
		if !optional || *v {
			b = strconv.AppendBool(key(b, name), *v)
		}
	case *int:
		b = appendInt(b, name, optional, int64(*v))
	case **int64:
		if *v != nil {
			b = strconv.AppendInt(key(b, name), **v, 10)
		}
	case **bool:
		if *v != nil {
			b = strconv.AppendBool(key(b, name), **v)
		}
	case *[]byte:
		if len(*v) > 0 {
			b = append(key(b, name), *v...)
		} else if !optional {
			b = append(key(b, name), "null"...)
		}
	case *[]string:
		if !optional || *v != nil {
			b = jsonappend.Strings(key(b, name), *v)
		}
	case **float64:
		if *v != nil {
			b = strconv.AppendFloat(key(b, name), **v, 'f', -1, 64)
		}
	case Value:
		if zero, ok := v.(interface{ IsZero() bool }); !optional || !ok || !zero.IsZero() {
			b = v.AppendJSON(key(b, name))
		}
	}
	return b
}

func appendInt(b []byte, name string, optional bool, v int64) []byte {
	if optional && v == 0 {
		return b
	}
	return strconv.AppendInt(key(b, name), v, 10)
}

// key appends a member's name, after a comma unless it is the object's first member.
func key(b []byte, name string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	b = append(b, '"')
	b = append(b, name...)
	return append(b, '"', ':')
}

// Pointer constrains a pointer to T that is a Value.
type Pointer[T any] interface {
	*T
	Value
}

// Maybe returns the Value of a nested object that may be absent. *to is nil if the object
// is absent. A nil *to is written as null if the member is always written.
func Maybe[T any, P Pointer[T]](to **T) Value { return maybe[T, P]{to} }

type maybe[T any, P Pointer[T]] struct{ to **T }

func (m maybe[T, P]) IsZero() bool { return *m.to == nil }

func (m maybe[T, P]) ReadJSON(v gjson.Result, mode Mode) *Problem {
	if v.Type == gjson.Null || mode == Tolerant && !v.IsObject() {
		return nil
	}
	*m.to = new(T)
	return P(*m.to).ReadJSON(v, mode)
}

func (m maybe[T, P]) AppendJSON(b []byte) []byte {
	if *m.to == nil {
		return append(b, "null"...)
	}
	return P(*m.to).AppendJSON(b)
}

// Items returns the Value of an array of objects. Reading replaces the elements of *to
// and reuses its capacity.
func Items[T any, P Pointer[T]](to *[]T) Value { return items[T, P]{to} }

type items[T any, P Pointer[T]] struct{ to *[]T }

func (l items[T, P]) IsZero() bool { return *l.to == nil }

func (l items[T, P]) ReadJSON(v gjson.Result, mode Mode) (bad *Problem) {
	if !v.IsArray() {
		*l.to = nil
		return nil
	}
	if *l.to == nil {
		*l.to = []T{}
	}
	*l.to = (*l.to)[:0]
	v.ForEach(func(_, v gjson.Result) bool {
		var one T
		i := len(*l.to)
		*l.to = append(*l.to, one)
		if p := P(&(*l.to)[i]).ReadJSON(v, mode); p != nil && mode != Tolerant {
			bad = p.within(strconv.Itoa(i))
		}
		return bad == nil
	})
	return bad
}

func (l items[T, P]) AppendJSON(b []byte) []byte {
	b = append(b, '[')
	for i := range *l.to {
		if i > 0 {
			b = append(b, ',')
		}
		b = P(&(*l.to)[i]).AppendJSON(b)
	}
	return append(b, ']')
}
