package abi

import (
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/abi/jsonobject"
)

// Short names for the kinds of members.
const (
	anything = jsonobject.Any
	text     = jsonobject.Text
	name     = jsonobject.Name
	whole    = jsonobject.Whole
	number   = jsonobject.Number
	flag     = jsonobject.Flag
	texts    = jsonobject.Texts
	list     = jsonobject.List
	object   = jsonobject.Object
)

// between is the kind of a whole number within bounds.
func between(low, high int64) jsonobject.Kind { return jsonobject.Range{Low: low, High: high} }

// operation is the member "op" of a request. The host reads it before the request, so
// ReadJSON does nothing.
type operation string

func (operation) ReadJSON(gjson.Result, jsonobject.Mode) *jsonobject.Problem { return nil }

func (o operation) AppendJSON(b []byte) []byte { return jsonappend.String(b, string(o)) }

// version is the member "abi" of an input. The plugin reads it before the input, so
// ReadJSON does nothing.
type version struct{}

func (version) ReadJSON(gjson.Result, jsonobject.Mode) *jsonobject.Problem { return nil }

func (version) AppendJSON(b []byte) []byte { return strconv.AppendInt(b, Version, 10) }

// rawObject is an object as JSON text. Empty text is written as {}.
type rawObject struct{ json *[]byte }

func (o rawObject) ReadJSON(v gjson.Result, _ jsonobject.Mode) *jsonobject.Problem {
	*o.json = jsonobject.View(v)
	return nil
}

func (o rawObject) AppendJSON(b []byte) []byte {
	if len(*o.json) == 0 {
		return append(b, "{}"...)
	}
	return append(b, *o.json...)
}
