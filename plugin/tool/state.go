package tool

import (
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/plugin/guest"
)

// wrapState returns the state that the host stores for a waiting tool: the tool's own
// state with the tool's name, which the input of resume does not contain.
func wrapState(name string, state []byte) []byte {
	o := jsonappend.Open(make([]byte, 0, len(state)+64))
	o.String("tool", name)
	o.Raw("state", state)
	return o.Close()
}

// unwrapState returns the tool of a flow and the tool's own state, or nil if the state
// was not written by a tool of this plugin with StateVersion.
func unwrapState(in *guest.Input) (*entry, string) {
	v := gjson.Parse(in.State)
	if in.StateVersion != StateVersion || !v.IsObject() {
		return nil, ""
	}
	return find(v.Get("tool").Str), v.Get("state").Raw
}
