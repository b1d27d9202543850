package jsonvalue

import (
	"fmt"
	"strings"
)

// Fields reads the members of an object by exact name and type, and reports members
// that were not read. An absent member leaves its target unchanged.
type Fields struct {
	Object map[string]any
	What   string // name of the object in errors
	Err    error  // first problem
	known  []string
}

// Take returns a member of any type and marks it as read.
func (f *Fields) Take(name string) any {
	f.known = append(f.known, name)
	return f.Object[name]
}

// Fail records a problem unless one is recorded already.
func (f *Fields) Fail(err error) {
	if f.Err == nil && err != nil {
		f.Err = fmt.Errorf("%s: %w", f.What, err)
	}
}

// Wrong records that a member is not of the wanted type.
func (f *Fields) Wrong(name, want string) {
	f.Fail(fmt.Errorf("%s: want %s, got %s", name, want, Truncate(f.Object[name])))
}

// Done returns the first problem. A member that was not read is a problem.
func (f *Fields) Done() error {
	if f.Object == nil {
		f.Fail(fmt.Errorf("want an object"))
	}
	for _, name := range Names(f.Object) {
		known := false
		for _, k := range f.known {
			known = known || k == name
		}
		if !known {
			f.Fail(fmt.Errorf("unknown member %q; known are %s", name, strings.Join(f.known, ", ")))
		}
	}
	return f.Err
}

// Text reads a text.
func (f *Fields) Text(name string, to *string) {
	if v := f.Take(name); Has(f.Object, name) {
		s, ok := v.(string)
		if !ok {
			f.Wrong(name, "a text")
		}
		*to = s
	}
}

// Texts reads an array of texts.
func (f *Fields) Texts(name string, to *[]string) {
	v := f.Take(name)
	if !Has(f.Object, name) {
		return
	}
	items, ok := v.([]any)
	if !ok {
		f.Wrong(name, "an array of texts")
	}
	*to = []string{}
	for _, item := range items {
		s, ok := item.(string)
		if !ok {
			f.Wrong(name, "an array of texts")
		}
		*to = append(*to, s)
	}
}

// Flag reads true or false.
func (f *Fields) Flag(name string, to *bool) {
	if v := f.Take(name); Has(f.Object, name) {
		b, ok := v.(bool)
		if !ok {
			f.Wrong(name, "true or false")
		}
		*to = b
	}
}

// OptFlag reads true or false into a new variable. An absent member leaves *to nil.
func (f *Fields) OptFlag(name string, to **bool) {
	if Has(f.Object, name) {
		*to = new(bool)
		f.Flag(name, *to)
	} else {
		f.Take(name)
	}
}

// Int reads a whole number.
func (f *Fields) Int(name string, to *int) {
	f.Take(name)
	n, err := Integer(f.Object, name, *to)
	f.Fail(err)
	*to = n
}

// Int64 reads a whole number.
func (f *Fields) Int64(name string, to *int64) {
	n := int(*to)
	f.Int(name, &n)
	*to = int64(n)
}

// OptInt reads a whole number into a new variable. An absent member leaves *to nil.
func (f *Fields) OptInt(name string, to **int64) {
	if Has(f.Object, name) {
		*to = new(int64)
		f.Int64(name, *to)
	} else {
		f.Take(name)
	}
}

// Required reads a text that must be present and not empty.
func (f *Fields) Required(name string, to *string) {
	if f.Text(name, to); *to == "" {
		f.Fail(fmt.Errorf("%s is missing or empty", name))
	}
}

// Bounded returns a whole number from low to high, or the value absent if the object lacks
// the member. An absent out of range makes the member required.
func (f *Fields) Bounded(name string, low, high, absent int) int {
	n := absent
	if f.Int(name, &n); n < low || n > high {
		f.Fail(fmt.Errorf("%s must be present and from %d to %d", name, low, high))
	}
	return n
}

// Nested reads an object member with fn. It does not call fn if the member is absent.
func (f *Fields) Nested(name string, fn func(*Fields)) {
	v := f.Take(name)
	if !Has(f.Object, name) {
		return
	}
	o, _ := v.(map[string]any)
	n := &Fields{Object: o, What: name}
	fn(n)
	f.Fail(n.Done())
}
