package module

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonobject"
)

// ParseDescription reads the output of describe, which the engine has checked: it is
// strict JSON and names the host's ABI version. ParseDescription ignores unknown
// members. The registry rejects a plugin if ParseDescription fails.
func ParseDescription(doc []byte) (*abi.Description, error) {
	d := &abi.Description{}
	if p := d.ReadJSON(gjson.ParseBytes(doc), jsonobject.Open); p != nil {
		return nil, badDescription(p.Error())
	}
	for _, c := range d.Capabilities {
		if !slices.Contains(abi.Capabilities, c) {
			return nil, abi.NewError(abi.Unsupported, fmt.Sprintf("the plugin requires the host operation %.60q, which this host does not have", c))
		}
	}
	switch {
	case strings.ContainsRune(d.Version, ' '):
		return nil, badDescription("its version contains a space")
	case d.StateVersion < d.Resumes[0] || d.StateVersion > d.Resumes[1]:
		return nil, badDescription("its stateVersion is outside of its range resumes")
	}
	return d, checkTools(d.Tools)
}

var toolsMember = jsonobject.New(
	jsonobject.Required("tools", jsonobject.List, func(tools *[]abi.Tool) any { return jsonobject.Items(tools) }),
)

// ParseTools reads the member "tools" of a description, or of another JSON object with
// such a member.
func ParseTools(doc []byte) ([]abi.Tool, error) {
	var tools []abi.Tool
	if p := toolsMember.Read(gjson.ParseBytes(doc), &tools, jsonobject.Open); p != nil {
		return nil, badDescription(p.Error())
	}
	return tools, checkTools(tools)
}

func checkTools(tools []abi.Tool) error {
	for i, tool := range tools {
		if slices.ContainsFunc(tools[:i], func(other abi.Tool) bool { return other.Name == tool.Name }) {
			return badDescription(fmt.Sprintf("it has two tools called %.60q", tool.Name))
		}
		// MCP requires this type in both schemas; a gateway cannot offer a tool without
		// it.
		for _, schema := range []struct {
			name string
			json []byte
		}{{"inputSchema", tool.InputSchema}, {"outputSchema", tool.OutputSchema}} {
			if v := gjson.GetBytes(schema.json, "type"); v.Type != gjson.String || v.Str != "object" {
				return badDescription(fmt.Sprintf(`the %s of the tool %.60q must have "type": "object"`, schema.name, tool.Name))
			}
		}
	}
	if len(tools) == 0 {
		return badDescription("it offers no tools")
	}
	return nil
}

func badDescription(problem string) error {
	return abi.NewError(abi.InvalidArgs, "the plugin's description is invalid: "+problem)
}
