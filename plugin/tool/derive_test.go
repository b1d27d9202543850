package tool_test

import (
	"bytes"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/parley-wasm/parley/abi/conformance/recordingtest"
	"github.com/parley-wasm/parley/abi/schema"
	"github.com/parley-wasm/parley/plugin/tool"
)

const derived = "../../testdata/recordings/derive.json"

// The recordings of derive are written by hand: they are what it must answer.
func TestDerive(t *testing.T) {
	recordingtest.ReplayAll(t, derived, func(x *recordingtest.Exchange, _ *recordingtest.Replay) ([]byte, error) {
		return tool.Derive(x.Input), nil
	})
}

// Whatever the input, the answer is facts or an error.
func FuzzDerive(f *testing.F) {
	all, err := recordingtest.Load(derived)
	if err != nil {
		f.Fatal(err)
	}
	for _, one := range all {
		for _, x := range one.Exchanges {
			f.Add([]byte(x.Input))
		}
	}
	messages, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema.Messages))
	if err != nil {
		f.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("messages.json", messages); err != nil {
		f.Fatal(err)
	}
	facts := c.MustCompile("messages.json#/$defs/facts")
	f.Fuzz(func(t *testing.T, input []byte) {
		output := tool.Derive(input)
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(output))
		if err != nil {
			t.Fatal(err)
		}
		if err := facts.Validate(v); err != nil {
			t.Fatalf("%v: %s", err, output)
		}
	})
}
