package jsonobject

import (
	"math"
	"strconv"

	"github.com/tidwall/gjson"
)

// Kind is the type and range of a member's value. Packages may define their own kinds.
type Kind interface {
	String() string             // description for errors; completes "must be"
	Check(v gjson.Result) Fault // Empty, Wrong, or 0
}

type basic uint8

// The kinds without parameters.
const (
	Any    basic = iota
	Text         // a string
	Name         // a string that is not empty
	Whole        // a whole number
	Number       // a number
	Flag         // true or false
	True         // true
	Texts        // an array of strings
	List         // an array
	Object       // an object
)

var wanted = [...]string{
	Any: "a value", Text: "a string", Name: "a string", Whole: "a whole number", Number: "a number", Flag: "true or false", True: "true",
	Texts: "an array of strings", List: "an array", Object: "an object",
}

func (k basic) String() string { return wanted[k] }

// Check implements Kind.
func (k basic) Check(v gjson.Result) Fault {
	ok := true
	switch k {
	case Text:
		ok = v.Type == gjson.String
	case Name:
		if v.Type == gjson.String && v.Str == "" {
			return Empty
		}
		ok = v.Type == gjson.String
	case Whole:
		ok = v.Type == gjson.Number && v.Num == math.Trunc(v.Num)
	case Number:
		ok = v.Type == gjson.Number
	case Flag:
		ok = v.IsBool()
	case True:
		ok = v.Type == gjson.True
	case Texts:
		ok = v.IsArray() && allTexts(v)
	case List:
		ok = v.IsArray()
	case Object:
		ok = v.IsObject()
	}
	return WrongUnless(ok)
}

func allTexts(v gjson.Result) bool {
	ok := true
	v.ForEach(func(_, v gjson.Result) bool {
		ok = v.Type == gjson.String
		return ok
	})
	return ok
}

// Range is the kind of a whole number from Low to High.
type Range struct{ Low, High int64 }

func (r Range) String() string {
	return "a whole number from " + strconv.FormatInt(r.Low, 10) + " to " + strconv.FormatInt(r.High, 10)
}

// Check implements Kind.
func (r Range) Check(v gjson.Result) Fault {
	return WrongUnless(Whole.Check(v) == 0 && v.Num >= float64(r.Low) && v.Num <= float64(r.High))
}

// WrongUnless returns 0 if ok is true, else Wrong.
func WrongUnless(ok bool) Fault {
	if ok {
		return 0
	}
	return Wrong
}
