package jsonobject

import (
	"math"
	"strconv"

	"github.com/tidwall/gjson"
)

// Kind is what the value of a member must be. Its String completes "must be".
type Kind interface {
	String() string
	check(v gjson.Result) Fault
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

func (k basic) check(v gjson.Result) Fault {
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
	return wrongUnless(ok)
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

func (r Range) check(v gjson.Result) Fault {
	return wrongUnless(Whole.check(v) == 0 && v.Num >= float64(r.Low) && v.Num <= float64(r.High))
}

func wrongUnless(ok bool) Fault {
	if ok {
		return 0
	}
	return Wrong
}
