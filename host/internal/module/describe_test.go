package module

import (
	"errors"
	"slices"
	"testing"

	"github.com/parley-wasm/parley/abi"
)

func TestDescriptionIsChecked(t *testing.T) {
	t.Parallel()
	const tool = `{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"object"},"readOnly":true,"needs":["session"]}`
	tests := []struct {
		name, doc string
		ok        bool
	}{
		{"complete", `{"abi":1,"name":"p","version":"1","stateVersion":2,"resumes":[1,2],"capabilities":["agent.run"],"tools":[` + tool + `]}`, true},
		{"no name", `{"abi":1,"version":"1","tools":[` + tool + `]}`, false},
		{"no version", `{"abi":1,"name":"p","tools":[` + tool + `]}`, false},
		{"version of two words", `{"abi":1,"name":"p","version":"1 beta","stateVersion":1,"resumes":[1,1],"tools":[` + tool + `]}`, false},
		{"states that it cannot read", `{"abi":1,"name":"p","version":"1","stateVersion":3,"resumes":[1,2],"tools":[` + tool + `]}`, false},
		{"no word of what it resumes", `{"abi":1,"name":"p","version":"1","stateVersion":1,"tools":[` + tool + `]}`, false},
		{"no tools", `{"abi":1,"name":"p","version":"1","tools":[]}`, false},
		{"tools are no array", `{"abi":1,"name":"p","version":"1","tools":"none"}`, false},
		{"two tools of one name", `{"abi":1,"name":"p","version":"1","tools":[` + tool + `,` + tool + `]}`, false},
		{"tool without name", `{"abi":1,"name":"p","version":"1","tools":[{"inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}]}`, false},
		{"tool without input schema", `{"abi":1,"name":"p","version":"1","tools":[{"name":"t","outputSchema":{"type":"object"}}]}`, false},
		{"tool without output schema", `{"abi":1,"name":"p","version":"1","tools":[{"name":"t","inputSchema":{"type":"object"}}]}`, false},
		{"input schema of no type", `{"abi":1,"name":"p","version":"1","tools":[{"name":"t","inputSchema":{},"outputSchema":{"type":"object"}}]}`, false},
		{"input schema of another type", `{"abi":1,"name":"p","version":"1","tools":[{"name":"t","inputSchema":{"type":"array"},"outputSchema":{"type":"object"}}]}`, false},
		{"output schema of no type", `{"abi":1,"name":"p","version":"1","tools":[{"name":"t","inputSchema":{"type":"object"},"outputSchema":{}}]}`, false},
		{"output schema of two types", `{"abi":1,"name":"p","version":"1","tools":[{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":["object"]}}]}`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, err := ParseDescription([]byte(tt.doc))
			if !tt.ok {
				if !errors.Is(err, abi.InvalidArgs) {
					t.Fatalf("got %+v, %v; want invalid_args", d, err)
				}
				return
			}
			if err != nil || d.StateVersion != 2 || d.Resumes != [2]int{1, 2} || !slices.Equal(d.Capabilities, []string{"agent.run"}) || len(d.Tools) != 1 || !d.Tools[0].ReadOnly || d.Tools[0].Needs[0] != "session" {
				t.Fatalf("got %+v, %v", d, err)
			}
		})
	}
}

// TestUnknownCapability refuses what this host cannot give, before a call finds out.
func TestUnknownCapability(t *testing.T) {
	t.Parallel()
	for _, list := range []string{`["store.list","net.fetch"]`, `[5]`, `["store"]`} {
		_, err := ParseDescription([]byte(`{"name":"p","version":"1","capabilities":` + list + `,"tools":[]}`))
		if !errors.Is(err, abi.Unsupported) {
			t.Errorf("%s: got %v", list, err)
		}
	}
}
