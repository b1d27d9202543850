package module

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonobject"
)

// ParseDescription reads the output of describe, which the engine has checked to
// be strict JSON of our ABI version. It fails on a plugin that New would refuse.
func ParseDescription(doc []byte) (*abi.Description, error) {
	d := &abi.Description{}
	d.ReadJSON(gjson.ParseBytes(doc), jsonobject.Tolerant)
	for _, c := range d.Capabilities {
		if !slices.Contains(abi.Capabilities, c) {
			return nil, abi.NewError(abi.Unsupported, fmt.Sprintf("the plugin asks for the operation %.60q of host functions, which this host does not have", c))
		}
	}
	switch {
	case d.Name == "" || d.Version == "":
		return nil, badDescription("it has no name or no version")
	case strings.ContainsRune(d.Version, ' '):
		return nil, badDescription("its version has a space in it")
	case d.StateVersion < d.Resumes[0] || d.StateVersion > d.Resumes[1]:
		return nil, badDescription("it does not resume the states that it writes")
	}
	return d, checkTools(d.Tools)
}

// ParseTools reads the member "tools" of a description, or of any other JSON
// object that has one.
func ParseTools(doc []byte) ([]abi.Tool, error) {
	var d abi.Description
	d.ReadJSON(gjson.ParseBytes(doc), jsonobject.Tolerant)
	return d.Tools, checkTools(d.Tools)
}

func checkTools(tools []abi.Tool) error {
	for i, tool := range tools {
		if tool.Name == "" {
			return badDescription(fmt.Sprintf("tool %d has no name", i+1))
		}
		if slices.ContainsFunc(tools[:i], func(other abi.Tool) bool { return other.Name == tool.Name }) {
			return badDescription(fmt.Sprintf("it has two tools called %.60q", tool.Name))
		}
		if err := checkSchema(tool.InputSchema); err != nil {
			return badDescription(fmt.Sprintf("the inputSchema of the tool %.60q %v", tool.Name, err))
		}
		if err := checkSchema(tool.OutputSchema); err != nil {
			return badDescription(fmt.Sprintf("the outputSchema of the tool %.60q %v", tool.Name, err))
		}
	}
	if len(tools) == 0 {
		return badDescription("it offers no tools")
	}
	return nil
}

// checkSchema checks what MCP demands of a tool's schemas; a gateway could not offer
// the tool without.
func checkSchema(schema []byte) error {
	v := gjson.ParseBytes(schema)
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
