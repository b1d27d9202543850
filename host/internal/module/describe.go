package module

import (
	"errors"
	"fmt"
	"slices"
	"strings"

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
	switch {
	case d.Name == "" || d.Version == "":
		return nil, badDescription("it has no name or no version")
	case strings.ContainsRune(d.Version, ' '):
		return nil, badDescription("its version has a space in it")
	case d.StateVersion < d.Resumes[0] || d.StateVersion > d.Resumes[1]:
		return nil, badDescription("it does not resume the states that it writes")
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
		if tool.Name == "" {
			return nil, badDescription(fmt.Sprintf("tool %d has no name", len(tools)+1))
		}
		if slices.ContainsFunc(tools, func(other abi.Tool) bool { return other.Name == tool.Name }) {
			return nil, badDescription(fmt.Sprintf("it has two tools called %.60q", tool.Name))
		}
		for _, schema := range []string{"inputSchema", "outputSchema"} {
			if err := checkSchema(t.Get(schema)); err != nil {
				return nil, badDescription(fmt.Sprintf("the %s of the tool %.60q %v", schema, tool.Name, err))
			}
		}
		tools = append(tools, tool)
	}
	if len(tools) == 0 {
		return nil, badDescription("it offers no tools")
	}
	return tools, nil
}

// checkSchema checks what MCP demands of a tool's schemas; a gateway could not offer
// the tool without.
func checkSchema(v gjson.Result) error {
	switch {
	case !v.IsObject():
		return errors.New("is no JSON object")
	case v.Get("type").Type != gjson.String || v.Get("type").Str != "object":
		return errors.New(`must have "type": "object"`)
	}
	return nil
}

func badDescription(what string) error {
	return abi.NewError(abi.InvalidArgs, "the plugin's description is wrong: "+what)
}
