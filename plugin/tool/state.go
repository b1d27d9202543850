package tool

import (
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/plugin/guest"
)

// enclose returns the state of a tool's wait as the host keeps it: with the
// tool's name, which resume is not told.
func enclose(name string, state []byte) []byte {
	o := jsonappend.Open(make([]byte, 0, len(state)+64))
	o.String("tool", name)
	o.Raw("state", state)
	return o.Close()
}

// disclose returns the tool that a flow belongs to and the state that it left,
// or nil when this plugin did not write it.
func disclose(in *guest.Input) (*entry, string) {
	v := gjson.Parse(in.State)
	if in.StateVersion != StateVersion || !v.IsObject() {
		return nil, ""
	}
	return find(v.Get("tool").Str), v.Get("state").Raw
}
