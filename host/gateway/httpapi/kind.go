package httpapi

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi/jsonobject"
)

// wholeOrText is the jsonobject.Kind of a thread id, which is a number on some channels.
type wholeOrText struct{}

func (wholeOrText) String() string { return "a string or a whole number" }

func (wholeOrText) Check(v gjson.Result) jsonobject.Fault {
	return jsonobject.WrongUnless(v.Type == gjson.String || jsonobject.Whole.Check(v) == 0)
}

// thread is a value of wholeOrText.
type thread struct{ to *string }

func (t thread) ReadJSON(v gjson.Result, _ jsonobject.Mode) *jsonobject.Problem {
	*t.to = v.Str
	if v.Type == gjson.Number {
		*t.to = strconv.FormatFloat(v.Num, 'f', -1, 64)
	}
	return nil
}

// fromZero is the kind of a number that is not negative.
type fromZero struct{}

func (fromZero) String() string { return "a non-negative number" }

func (fromZero) Check(v gjson.Result) jsonobject.Fault {
	return jsonobject.WrongUnless(v.Type == gjson.Number && v.Num >= 0)
}

// settingText is the kind of a string that changes a setting. It rejects blank strings,
// which may result from an unset variable.
type settingText struct{}

func (settingText) String() string { return "a string that is not blank; null unsets it" }

func (settingText) Check(v gjson.Result) jsonobject.Fault {
	return jsonobject.WrongUnless(v.Type == gjson.Null || v.Type == gjson.String && strings.TrimSpace(v.Str) != "")
}

// setting is a value of settingText.
type setting struct{ to **string }

func (s setting) ReadJSON(v gjson.Result, _ jsonobject.Mode) *jsonobject.Problem {
	*s.to = new(v.Str)
	return nil
}
