package abi

import (
	"strconv"

	"github.com/parley-wasm/parley/abi/jsonappend"
)

// Description is the output of the export "describe".
type Description struct {
	ABI          int
	Name         string
	Version      string
	StateVersion int    // version of the states that this plugin writes
	Resumes      [2]int // oldest and newest state version that it reads
	// Capabilities are the operations of host functions that it asks for, names of
	// abi.Capabilities. It gets no others.
	Capabilities []string
	Tools        []Tool
}

// Tool describes one tool to callers and to the host.
type Tool struct {
	Name         string
	Description  string
	InputSchema  []byte // JSON Schema
	OutputSchema []byte // JSON Schema
	ReadOnly     bool   // a snapshot and no flow; every write and wait is forbidden
	Needs        []string
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

// AppendJSON appends the description's JSON.
func (d *Description) AppendJSON(b []byte) []byte {
	o := jsonappend.Open(b)
	o.Int("abi", int64(d.ABI))
	o.String("name", d.Name)
	o.String("version", d.Version)
	o.Int("stateVersion", int64(d.StateVersion))
	r := strconv.AppendInt(append(o.Key("resumes"), '['), int64(d.Resumes[0]), 10)
	r = strconv.AppendInt(append(r, ','), int64(d.Resumes[1]), 10)
	o.Value(append(r, ']'))
	o.Strings("capabilities", d.Capabilities)
	t := append(o.Key("tools"), '[')
	for i := range d.Tools {
		if i > 0 {
			t = append(t, ',')
		}
		t = d.Tools[i].appendJSON(t)
	}
	o.Value(append(t, ']'))
	return o.Close()
}

func (t *Tool) appendJSON(b []byte) []byte {
	o := jsonappend.Open(b)
	o.String("name", t.Name)
	o.String("description", t.Description)
	o.Raw("inputSchema", t.InputSchema)
	o.Raw("outputSchema", t.OutputSchema)
	o.Bool("readOnly", t.ReadOnly)
	o.Strings("needs", t.Needs)
	return o.Close()
}
