package module

import (
	"fmt"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
)

// ParseDescription reads the output of describe, which the engine has checked to
// be strict JSON of our ABI version. It fails on a plugin that New would refuse.
func ParseDescription(doc []byte) (*abi.Description, error) {
	v := gjson.ParseBytes(doc)
	d := &abi.Description{
		ABI:          int(v.Get("abi").Int()),
		Name:         v.Get("name").Str,
		Version:      v.Get("version").Str,
		StateVersion: int(v.Get("stateVersion").Int()),
		Resumes:      [2]int{int(v.Get("resumes.0").Int()), int(v.Get("resumes.1").Int())},
	}
	for _, c := range v.Get("capabilities").Array() {
		if !slices.Contains(abi.Capabilities, c.String()) {
			return nil, abi.NewError(abi.Unsupported, fmt.Sprintf("the plugin asks for the operation %.60q of host functions, which this host does not have", c.String()))
		}
		d.Capabilities = append(d.Capabilities, c.Str)
	}
	if d.Name == "" || d.Version == "" {
		return nil, badDescription("it has no name or no version")
	}
	var err error
	if d.Tools, err = ParseTools(doc); err != nil {
		return nil, err
	}
	return d, nil
}

// ParseTools reads the member "tools" of a description, or of any other JSON
// object that has one.
func ParseTools(doc []byte) ([]abi.Tool, error) {
	var tools []abi.Tool
	for _, t := range gjson.GetBytes(doc, "tools").Array() {
		tool := abi.Tool{
			Name:         t.Get("name").Str,
			Description:  t.Get("description").Str,
			InputSchema:  []byte(t.Get("inputSchema").Raw),
			OutputSchema: []byte(t.Get("outputSchema").Raw),
			ReadOnly:     t.Get("readOnly").Bool(),
		}
		for _, need := range t.Get("needs").Array() {
			tool.Needs = append(tool.Needs, need.Str)
		}
		if tool.Name == "" || !t.Get("inputSchema").IsObject() || !t.Get("outputSchema").IsObject() {
			return nil, badDescription(fmt.Sprintf("tool %d has no name or no schemas", len(tools)+1))
		}
		tools = append(tools, tool)
	}
	if len(tools) == 0 {
		return nil, badDescription("it offers no tools")
	}
	return tools, nil
}

func badDescription(what string) error {
	return abi.NewError(abi.InvalidArgs, "the plugin's description is wrong: "+what)
}
