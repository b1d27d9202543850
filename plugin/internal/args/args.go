// Package args reads the arguments of a tool call by the rules of S0.2: strings
// are trimmed and blank is absent, null is absent, numbers are floored, numbers
// out of a clamped range are clamped. A wrong type, an unknown value of an
// enumeration and an unknown parameter are failures that name the parameter and
// what it accepts.
//
//	a := args.Read(input)
//	label := a.String("label")
//	limit := a.Clamped("limit", 50, 1, 200)
//	if err := a.Done(); err != nil {
//		return err
//	}
//
// The first failure is kept and the rest of the reading goes on with defaults,
// so that one check at the end is enough. Names are matched exactly: a name in
// another case is unknown.
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
	asked   []string // names of the parameters read so far
	err     *abi.Error
}

type member struct {
	name  string
	value gjson.Result
	asked bool
}

// maxMembers is more than any tool has parameters: with so many members one is
// unknown already, and the rest need not be kept. Their number is the caller's.
const maxMembers = 24

// Read takes the arguments of a call, a JSON text that passed jsonstrict. "" and
// null are no arguments.
func Read(doc string) *Args {
	a := &Args{members: make([]member, 0, maxMembers), asked: make([]string, 0, maxMembers/2)}
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

// Done returns the failure as an *abi.Error with code invalid_args, or nil. Every
// argument that was not read by now is an unknown parameter; that comes before
// any other failure, because a misspelt name is why another is missing.
func (a *Args) Done() error {
	for i := range a.members {
		if m := &a.members[i]; !m.asked {
			return abi.NewError(abi.InvalidArgs, "unknown parameter "+render.Quote(m.name)+"; "+a.known(m.name))
		}
	}
	if a.err == nil {
		return nil
	}
	return a.err
}

// known says what would have been accepted instead of name.
func (a *Args) known(name string) string {
	if len(a.asked) == 0 {
		return "this tool takes no parameters"
	}
	for _, k := range a.asked {
		if strings.EqualFold(k, name) {
			return "its name is " + k
		}
	}
	return "accepted are " + strings.Join(a.asked, ", ")
}

// Fail records a failure that the caller found in a parameter's value.
func (a *Args) Fail(name, text string) { a.fail(name + " " + text) }

func (a *Args) fail(text string) {
	if a.err == nil {
		a.err = abi.NewError(abi.InvalidArgs, text)
	}
}

// find returns the parameter's value; an absent one has the type of null.
func (a *Args) find(name string) gjson.Result {
	a.asked = append(a.asked, name)
	for i := range a.members {
		if m := &a.members[i]; m.name == name {
			m.asked = true
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

// Required reads a string that must be there; what says what it is.
func (a *Args) Required(name, what string) string {
	s := a.String(name)
	if s == "" {
		a.Fail(name, "is required: "+what)
	}
	return s
}

// OneOf reads an array of strings, each of which must be one of values. Absent,
// empty and blank elements leave nil: no restriction.
func (a *Args) OneOf(name string, values []string) []string {
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

// Choice reads a string that must be one of values; the first when absent.
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

// Clamped reads a number, floored and brought into [low, high]; def when absent.
func (a *Args) Clamped(name string, def, low, high int64) int64 {
	v, ok := a.number(name)
	if !ok {
		return def
	}
	return max(low, min(high, v))
}

// AtLeast reads a number, floored, that must not be below low. It reports
// whether the parameter was given.
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
