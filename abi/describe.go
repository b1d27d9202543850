package abi

import (
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi/jsonobject"
)

// Description is the output of the export "describe".
type Description struct {
	ABI          int
	Name         string
	Version      string
	StateVersion int    // version of the states that the plugin writes
	Resumes      [2]int // oldest and newest state version that the plugin reads
	// Capabilities are the operations of host functions that the plugin requires, a
	// subset of abi.Capabilities. The host forbids all others.
	Capabilities []string
	Tools        []Tool
}

var descriptionMembers = jsonobject.New(
	jsonobject.Required("abi", whole, func(d *Description) any { return &d.ABI }),
	jsonobject.Required("name", name, func(d *Description) any { return &d.Name }),
	jsonobject.Required("version", name, func(d *Description) any { return &d.Version }),
	jsonobject.Required("stateVersion", whole, func(d *Description) any { return &d.StateVersion }),
	jsonobject.Required("resumes", versionPair{}, func(d *Description) any { return versions{&d.Resumes} }),
	jsonobject.Always("capabilities", texts, func(d *Description) any { return &d.Capabilities }),
	jsonobject.Required("tools", list, func(d *Description) any { return jsonobject.Items(&d.Tools) }),
)

// ReadJSON reads the JSON that AppendJSON writes.
func (d *Description) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return descriptionMembers.Read(v, d, mode)
}

// AppendJSON appends the description's JSON.
func (d *Description) AppendJSON(b []byte) []byte { return descriptionMembers.Append(b, d) }

// versionPair is the kind of a member that holds the oldest and the newest version.
type versionPair struct{}

func (versionPair) String() string { return "an array of two whole numbers" }

func (versionPair) Check(v gjson.Result) jsonobject.Fault {
	all := v.Array()
	return jsonobject.WrongUnless(v.IsArray() && len(all) == 2 && whole.Check(all[0]) == 0 && whole.Check(all[1]) == 0)
}

// versions is the value of a versionPair member.
type versions struct{ to *[2]int }

func (r versions) ReadJSON(v gjson.Result, _ jsonobject.Mode) *jsonobject.Problem {
	*r.to = [2]int{int(v.Get("0").Int()), int(v.Get("1").Int())}
	return nil
}

func (r versions) AppendJSON(b []byte) []byte {
	b = strconv.AppendInt(append(b, '['), int64(r.to[0]), 10)
	b = strconv.AppendInt(append(b, ','), int64(r.to[1]), 10)
	return append(b, ']')
}

// Tool returns the tool with this name, or nil.
func (d *Description) Tool(name string) *Tool {
	for i := range d.Tools {
		if d.Tools[i].Name == name {
			return &d.Tools[i]
		}
	}
	return nil
}

// Tool describes one tool to callers and to the host.
type Tool struct {
	Name         string
	Description  string
	InputSchema  []byte   // JSON Schema
	OutputSchema []byte   // JSON Schema
	ReadOnly     bool     // one step on a snapshot, without a flow; writes and waits are forbidden
	Needs        []string // members of config that the tool requires
}

var toolMembers = jsonobject.New(
	jsonobject.Required("name", name, func(t *Tool) any { return &t.Name }),
	jsonobject.Always("description", text, func(t *Tool) any { return &t.Description }),
	jsonobject.Required("inputSchema", object, func(t *Tool) any { return &t.InputSchema }),
	jsonobject.Required("outputSchema", object, func(t *Tool) any { return &t.OutputSchema }),
	jsonobject.Always("readOnly", flag, func(t *Tool) any { return &t.ReadOnly }),
	jsonobject.Always("needs", texts, func(t *Tool) any { return &t.Needs }),
)

// ReadJSON reads the JSON that AppendJSON writes. The schemas are slices of the
// document.
func (t *Tool) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return toolMembers.Read(v, t, mode)
}

// AppendJSON appends the tool's JSON.
func (t *Tool) AppendJSON(b []byte) []byte { return toolMembers.Append(b, t) }
