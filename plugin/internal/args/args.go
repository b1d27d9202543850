// Package args reads the arguments of a tool call by the rules of S0.2: strings are
// trimmed, a blank string and null count as absent, numbers are floored, and some
// are clamped to a range. A wrong type, an unknown value of an enumeration
// and an unknown parameter are failures whose text names the parameter and the accepted
// values.
//
//	a := args.Read(input)
//	label := a.String("label")
//	limit := a.Clamped("limit", 50, 1, 200)
//	if err := a.Done(); err != nil {
//		return err
//	}
//
// A read that fails returns the default. Args keeps the first failure, so one check at the
// end is enough. Names are case-sensitive: a name in another case is unknown.
package args

import (
	"math"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/plugin/internal/render"
)

// Args are the arguments of one call.
type Args struct {
	members []member
	read    []string // names of the parameters read so far
	err     *abi.Error
}

type member struct {
	name  string
	value gjson.Result
	read  bool
}

// maxMembers exceeds the number of parameters of every tool. If the caller
// passes maxMembers or more, at least one of the first maxMembers is unknown, and Read
// ignores the rest.
const maxMembers = 24

// Read returns the arguments of a call from a JSON text that passed jsonstrict. "" and
// null mean no arguments.
func Read(doc string) *Args {
	a := &Args{members: make([]member, 0, maxMembers), read: make([]string, 0, maxMembers/2)}
	args := gjson.Parse(doc)
	switch {
	case args.Type == gjson.Null:
	case args.IsObject():
		args.ForEach(func(name, v gjson.Result) bool {
			a.members = append(a.members, member{name: name.Str, value: v})
			return len(a.members) < maxMembers
		})
	default:
		a.fail("the arguments must be a JSON object with the parameters as members")
	}
	return a
}

// Done returns the failure as an *abi.Error with code invalid_args, or nil. An argument
// that has not been read is an unknown parameter. That failure precedes all others,
// because a misspelt name can be the reason why a required parameter is missing.
func (a *Args) Done() error {
	for i := range a.members {
		if m := &a.members[i]; !m.read {
			return abi.NewError(abi.InvalidArgs, "unknown parameter "+render.Quote(m.name)+"; "+a.known(m.name))
		}
	}
	if a.err == nil {
		return nil
	}
	return a.err
}

// known returns the part of an error text that names the accepted parameters.
func (a *Args) known(name string) string {
	if len(a.read) == 0 {
		return "this tool takes no parameters"
	}
	for _, k := range a.read {
		if strings.EqualFold(k, name) {
			return "its name is " + k
		}
	}
	return "accepted are " + strings.Join(a.read, ", ")
}

// Fail records a failure that the caller found in a parameter's value.
func (a *Args) Fail(name, text string) { a.fail(name + " " + text) }

func (a *Args) fail(text string) {
	if a.err == nil {
		a.err = abi.NewError(abi.InvalidArgs, text)
	}
}

// find returns the parameter's value; its type is gjson.Null if the parameter is absent.
func (a *Args) find(name string) gjson.Result {
	a.read = append(a.read, name)
	for i := range a.members {
		if m := &a.members[i]; m.name == name {
			m.read = true
			return m.value
		}
	}
	return gjson.Result{}
}

// String reads a string; "" when absent.
func (a *Args) String(name string) string {
	v := a.find(name)
	if v.Type != gjson.String && v.Type != gjson.Null {
		a.Fail(name, "must be a string")
	}
	return strings.TrimSpace(v.Str)
}

// Required reads a string that must be present. description explains the parameter in
// the error text.
func (a *Args) Required(name, description string) string {
	s := a.String(name)
	if s == "" {
		a.Fail(name, "is required: "+description)
	}
	return s
}

// SubsetOf reads an array of strings, each of which must be one of values. It ignores blank
// elements. It returns nil, which means no restriction, if the array is absent or has only
// blank elements.
func (a *Args) SubsetOf(name string, values []string) []string {
	v := a.find(name)
	if v.Type == gjson.Null {
		return nil
	}
	if !v.IsArray() {
		a.Fail(name, "must be an array of strings")
		return nil
	}
	var out []string
	for _, v := range v.All() {
		if v.Type != gjson.String {
			a.Fail(name, "must be an array of strings")
			return nil
		}
		s := strings.TrimSpace(v.Str)
		switch {
		case s == "" || contains(out, s):
		case contains(values, s):
			out = append(out, s)
		default:
			a.Fail(name, "contains the unknown value "+render.Quote(s)+"; accepted are "+strings.Join(values, ", "))
			return nil
		}
	}
	return out
}

// Choice reads a string that must be one of values; it returns the first of them when absent.
func (a *Args) Choice(name string, values ...string) string {
	switch s := a.String(name); {
	case s == "":
	case contains(values, s):
		return s
	default:
		a.Fail(name, "has the unknown value "+render.Quote(s)+"; accepted are "+strings.Join(values, ", "))
	}
	return values[0]
}

func contains(list []string, s string) bool {
	for _, v := range list {
		if v == s {
			return true
		}
	}
	return false
}

// Bool reads a boolean; false when absent.
func (a *Args) Bool(name string) bool {
	switch a.find(name).Type {
	case gjson.True:
		return true
	case gjson.False, gjson.Null:
		return false
	}
	a.Fail(name, "must be true or false")
	return false
}

// Clamped reads a number, floored and clamped to [low, high]; def when absent.
func (a *Args) Clamped(name string, def, low, high int64) int64 {
	v, ok := a.number(name)
	if !ok {
		return def
	}
	return max(low, min(high, v))
}

// AtLeast reads a number, floored, that must not be below low. It also reports whether
// the parameter was given.
func (a *Args) AtLeast(name string, low int64) (v int64, given bool) {
	v, given = a.number(name)
	if given && v < low {
		a.Fail(name, "must be a number of at least "+strconv.FormatInt(low, 10))
		return 0, false
	}
	return v, given
}

func (a *Args) number(name string) (int64, bool) {
	v := a.find(name)
	if v.Type == gjson.Null {
		return 0, false
	}
	if v.Type == gjson.Number && v.Num >= -abi.MaxSafeInteger && v.Num <= abi.MaxSafeInteger {
		return int64(math.Floor(v.Num)), true
	}
	a.Fail(name, "must be a number")
	return 0, false
}
