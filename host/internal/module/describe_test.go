package module

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-wasm/parley/abi"
)

// description returns a valid output of describe, with the old and new strings in
// change replaced.
func description(change ...string) []byte {
	return []byte(strings.NewReplacer(change...).Replace(`{"abi":1,"name":"p","version":"1","stateVersion":2,"resumes":[1,2],"capabilities":["agent.run"],"tools":[` + describedTool + `]}`))
}

const describedTool = `{"name":"t","description":"d","inputSchema":{"type":"object"},"outputSchema":{"type":"object"},"readOnly":true,"needs":["session"]}`

func TestDescription(t *testing.T) {
	t.Parallel()
	want := &abi.Description{ABI: 1, Name: "p", Version: "1", StateVersion: 2, Resumes: [2]int{1, 2}, Capabilities: []string{"agent.run"}, Tools: []abi.Tool{{
		Name: "t", Description: "d", InputSchema: []byte(`{"type":"object"}`), OutputSchema: []byte(`{"type":"object"}`), ReadOnly: true, Needs: []string{"session"},
	}}}
	// A newer plugin may have additional members.
	for _, doc := range [][]byte{description(), description(`"abi":1`, `"abi":1,"since":{}`, `"readOnly"`, `"icon":null,"readOnly"`)} {
		got, err := ParseDescription(doc)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%s: %v, %s", doc, err, d)
		}
	}
}

// TestOptionalMembers leaves out every optional member.
func TestOptionalMembers(t *testing.T) {
	t.Parallel()
	got, err := ParseDescription(description(`"capabilities":["agent.run"],`, ``, `"description":"d",`, ``, `"readOnly":true,"needs":["session"]`, `"since":1`))
	want := &abi.Description{ABI: 1, Name: "p", Version: "1", StateVersion: 2, Resumes: [2]int{1, 2}, Tools: []abi.Tool{{
		Name: "t", InputSchema: []byte(`{"type":"object"}`), OutputSchema: []byte(`{"type":"object"}`),
	}}}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v, %s", err, d)
	}
}

func TestInvalidDescription(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ old, new, want string }{
		{`"name":"p",`, ``, "name is missing"},
		{`"name":"p"`, `"name":""`, "name is empty"},
		{`"version":"1"`, `"version":1`, "version must be a string"},
		{`"version":"1"`, `"version":"1 beta"`, "its version contains a space"},
		{`"stateVersion":2`, `"stateVersion":"2"`, "stateVersion must be a whole number"},
		{`"stateVersion":2`, `"stateVersion":3`, "its stateVersion is outside of its range resumes"},
		{`"resumes":[1,2],`, ``, "resumes is missing"},
		{`[1,2]`, `["1","2"]`, "resumes must be an array of two whole numbers"},
		{`[1,2]`, `[1,2,3]`, "resumes must be an array of two whole numbers"},
		{`["agent.run"]`, `"agent.run"`, "capabilities must be an array of strings"},
		{`["agent.run"]`, `[5]`, "capabilities must be an array of strings"},
		{`[` + describedTool + `]`, `[]`, "it offers no tools"},
		{`[` + describedTool + `]`, `"none"`, "tools must be an array"},
		{`[` + describedTool + `]`, `[` + describedTool + `,7]`, "tools.1 must be an object"},
		{describedTool, describedTool + `,` + describedTool, `it has two tools called "t"`},
		{`"name":"t",`, ``, "tools.0.name is missing"},
		{`"description":"d"`, `"description":null`, "tools.0.description must be a string"},
		{`"inputSchema":{"type":"object"},`, ``, "tools.0.inputSchema is missing"},
		{`"inputSchema":{"type":"object"}`, `"inputSchema":{}`, `the inputSchema of the tool "t" must have "type": "object"`},
		{`"inputSchema":{"type":"object"}`, `"inputSchema":{"type":"array"}`, `the inputSchema of the tool "t" must have "type": "object"`},
		{`"outputSchema":{"type":"object"}`, `"outputSchema":true`, "tools.0.outputSchema must be an object"},
		{`"outputSchema":{"type":"object"}`, `"outputSchema":{"type":["object"]}`, `the outputSchema of the tool "t" must have "type": "object"`},
		{`"readOnly":true`, `"readOnly":"true"`, "tools.0.readOnly must be true or false"},
		{`"needs":["session"]`, `"needs":"session"`, "tools.0.needs must be an array of strings"},
	} {
		d, err := ParseDescription(description(tt.old, tt.new))
		if !errors.Is(err, abi.InvalidArgs) || err.Error() != "the plugin's description is invalid: "+tt.want {
			t.Errorf("%s: got %+v, %v; want %s", tt.new, d, err, tt.want)
		}
	}
}

// TestUnknownCapability checks that a description which requires an unknown operation
// is rejected.
func TestUnknownCapability(t *testing.T) {
	t.Parallel()
	for _, list := range []string{`["store.list","net.fetch"]`, `["store"]`} {
		_, err := ParseDescription(description(`["agent.run"]`, list))
		if !errors.Is(err, abi.Unsupported) {
			t.Errorf("%s: got %v", list, err)
		}
	}
}

// TestParseTools checks that ParseTools is as strict as ParseDescription.
func TestParseTools(t *testing.T) {
	t.Parallel()
	if tools, err := ParseTools([]byte(`{"tools":[` + describedTool + `],"more":1}`)); err != nil || len(tools) != 1 || tools[0].Name != "t" {
		t.Errorf("got %+v, %v", tools, err)
	}
	for doc, want := range map[string]string{
		`{}`:             "tools is missing",
		`{"tools":[]}`:   "it offers no tools",
		`{"tools":[{}]}`: "tools.0.name is missing",
		`{"tools":[` + strings.Replace(describedTool, "true", `"true"`, 1) + `]}`: "tools.0.readOnly must be true or false",
	} {
		if _, err := ParseTools([]byte(doc)); !errors.Is(err, abi.InvalidArgs) || !strings.HasSuffix(err.Error(), ": "+want) {
			t.Errorf("%s: got %v, want %s", doc, err, want)
		}
	}
}
