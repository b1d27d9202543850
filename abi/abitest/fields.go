package abitest

import (
	"fmt"
	"strings"
)

// fields reads the members of an object, each by its exact name and type, and
// reports what is left over.
type fields struct {
	o     map[string]any
	what  string
	known []string
	err   error
}

func (f *fields) take(name string) any {
	f.known = append(f.known, name)
	return f.o[name]
}

func (f *fields) fail(err error) {
	if f.err == nil && err != nil {
		f.err = fmt.Errorf("%s: %w", f.what, err)
	}
}

func (f *fields) wrong(name, want string) {
	f.fail(fmt.Errorf("%s: want %s, got %s", name, want, brief(f.o[name])))
}

func (f *fields) done() error {
	if f.o == nil {
		f.fail(fmt.Errorf("want an object"))
	}
	for _, name := range names(f.o) {
		known := false
		for _, k := range f.known {
			known = known || k == name
		}
		if !known {
			f.fail(fmt.Errorf("unknown member %q; known are %s", name, strings.Join(f.known, ", ")))
		}
	}
	return f.err
}

func (f *fields) text(name string, to *string) {
	if v := f.take(name); has(f.o, name) {
		s, ok := v.(string)
		if !ok {
			f.wrong(name, "a text")
		}
		*to = s
	}
}

func (f *fields) texts(name string, to *[]string) {
	v := f.take(name)
	if !has(f.o, name) {
		return
	}
	items, ok := v.([]any)
	if !ok {
		f.wrong(name, "an array of texts")
	}
	*to = []string{}
	for _, item := range items {
		s, ok := item.(string)
		if !ok {
			f.wrong(name, "an array of texts")
		}
		*to = append(*to, s)
	}
}

func (f *fields) flag(name string, to *bool) {
	if v := f.take(name); has(f.o, name) {
		b, ok := v.(bool)
		if !ok {
			f.wrong(name, "true or false")
		}
		*to = b
	}
}

func (f *fields) optFlag(name string, to **bool) {
	if has(f.o, name) {
		*to = new(bool)
		f.flag(name, *to)
	} else {
		f.take(name)
	}
}

func (f *fields) int(name string, to *int) {
	f.take(name)
	n, err := integer(f.o, name, *to)
	f.fail(err)
	*to = n
}

func (f *fields) int64(name string, to *int64) {
	n := int(*to)
	f.int(name, &n)
	*to = int64(n)
}

func (f *fields) optInt(name string, to **int64) {
	if has(f.o, name) {
		*to = new(int64)
		f.int64(name, *to)
	} else {
		f.take(name)
	}
}

func (f *fields) required(name string, to *string) {
	if f.text(name, to); *to == "" {
		f.fail(fmt.Errorf("%s is missing or empty", name))
	}
}

func (f *fields) bounded(name string, low, high, absent int) int {
	n := absent
	if f.int(name, &n); n < low || n > high {
		f.fail(fmt.Errorf("%s must be there, and from %d to %d", name, low, high))
	}
	return n
}

// nested reads an object member with fn; absent is not read.
func (f *fields) nested(name string, fn func(*fields)) {
	v := f.take(name)
	if !has(f.o, name) {
		return
	}
	o, _ := v.(map[string]any)
	n := &fields{o: o, what: name}
	fn(n)
	f.fail(n.done())
}
