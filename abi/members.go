package abi

import (
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/abi/jsonobject"
)

// Kinds of members.
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

// operation is the member "op" of a request. The host has read it before it reads the
// request.
type operation string

func (operation) ReadJSON(gjson.Result, jsonobject.Mode) *jsonobject.Problem { return nil }

func (o operation) AppendJSON(b []byte) []byte { return jsonappend.String(b, string(o)) }

// version is the member "abi" of an input. The plugin has read it before it reads the
// input.
type version struct{}

func (version) ReadJSON(gjson.Result, jsonobject.Mode) *jsonobject.Problem { return nil }

func (version) AppendJSON(b []byte) []byte { return strconv.AppendInt(b, Version, 10) }

// settings is an object as JSON text; no text is an object without members.
type settings struct{ json *[]byte }

func (s settings) ReadJSON(v gjson.Result, _ jsonobject.Mode) *jsonobject.Problem {
	*s.json = jsonobject.View(v)
	return nil
}

func (s settings) AppendJSON(b []byte) []byte {
	if len(*s.json) == 0 {
		return append(b, "{}"...)
	}
	return append(b, *s.json...)
}
