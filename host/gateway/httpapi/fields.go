package httpapi

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonstrict"
)

// field takes one member's value. It fails with abi.InvalidArgs and a text that
// names the member.
type field func(name string, v gjson.Result) error

// fields are the members that an object may have.
type fields map[string]field

// readBody reads a request's body: one strict JSON object with known members of
// the right types, or abi.InvalidArgs.
func readBody(body []byte, known fields) error {
	if err := jsonstrict.Check(body); err != nil {
		return invalid("the body is not strict JSON: %v", err)
	}
	doc := gjson.ParseBytes(body)
	if !doc.IsObject() {
		return invalid("the body must be a JSON object")
	}
	return known.read("", doc)
}

// read reads an object; path is where it lies, with a dot at its end.
func (f fields) read(path string, doc gjson.Result) (err error) {
	doc.ForEach(func(name, v gjson.Result) bool {
		take, ok := f[name.Str]
		if !ok {
			err = invalid("unknown member %q; known are %s", clip(path+name.Str), strings.Join(slices.Sorted(maps.Keys(f)), ", "))
			return false
		}
		err = take(path+name.Str, v)
		return err == nil
	})
	return err
}

// text takes a string. null is as good as absent.
func text(to *string) field {
	return func(name string, v gjson.Result) error {
		if v.Type != gjson.String && v.Type != gjson.Null {
			return invalid("%s must be a string", name)
		}
		*to = v.Str
		return nil
	}
}

// thread takes a thread's id, which some channels count in numbers.
func thread(to *string) field {
	return func(name string, v gjson.Result) error {
		if v.Type == gjson.Number && v.Num == math.Trunc(v.Num) {
			*to = strconv.FormatFloat(v.Num, 'f', -1, 64)
			return nil
		}
		return text(to)(name, v)
	}
}

// flag takes true or false.
func flag(to *bool) field {
	return func(name string, v gjson.Result) error {
		if !v.IsBool() && v.Type != gjson.Null {
			return invalid("%s must be true or false", name)
		}
		*to = v.Bool()
		return nil
	}
}

// count takes a whole number from 0.
func count(to *int) field {
	return func(name string, v gjson.Result) error {
		n := int(v.Int())
		if v.Type != gjson.Number || float64(n) != v.Num || n < 0 {
			return invalid("%s must be a whole number from 0", name)
		}
		*to = n
		return nil
	}
}

// number takes a number from 0; what follows its point is dropped.
func number(to *float64) field {
	return func(name string, v gjson.Result) error {
		switch {
		case v.Type == gjson.Null:
			return nil
		case v.Type != gjson.Number || v.Num < 0:
			return invalid("%s must be a number from 0", name)
		}
		*to = math.Floor(v.Num)
		return nil
	}
}

// anyJSON takes any JSON as it is.
func anyJSON(to *[]byte) field {
	return func(_ string, v gjson.Result) error {
		if v.Type != gjson.Null {
			*to = []byte(v.Raw)
		}
		return nil
	}
}

// object takes an object. before is called first.
func object(known fields, before func()) field {
	return func(name string, v gjson.Result) error {
		if !v.IsObject() {
			return invalid("%s must be a JSON object", name)
		}
		before()
		return known.read(name+".", v)
	}
}

// setting takes a string that changes something; null unsets it. A blank one may
// be an accident, such as a variable that is not set.
func setting(to **string) field {
	return func(name string, v gjson.Result) error {
		var s string
		*to = &s
		if err := text(&s)(name, v); err != nil || v.Type == gjson.Null {
			return err
		}
		if strings.TrimSpace(s) == "" {
			return invalid("%s is blank; null unsets it", name)
		}
		return nil
	}
}

// toggle takes true or false that change something.
func toggle(to **bool) field {
	return func(name string, v gjson.Result) error {
		if !v.IsBool() {
			return invalid("%s must be true or false", name)
		}
		b := v.Bool()
		*to = &b
		return nil
	}
}

// required refuses what is blank.
func required(name, value string) error {
	if strings.TrimSpace(value) == "" {
		return invalid("%s is required", name)
	}
	return nil
}

func invalid(format string, args ...any) error {
	return abi.NewError(abi.InvalidArgs, fmt.Sprintf(format, args...))
}

func clip(s string) string {
	const most = 60
	for i := range s {
		if i >= most {
			return s[:i] + "…"
		}
	}
	return s
}
