package tool_test

import (
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/conformance/recordingtest"
	"github.com/parley-wasm/parley/abi/conformance/refhost"
	"github.com/parley-wasm/parley/abi/conformance/vector"
	"github.com/parley-wasm/parley/plugin/tool"
	"github.com/parley-wasm/parley/testdata/vectors"
)

// TestVectors runs the conformance vectors against the plugin's code, natively in the
// reference host.
func TestVectors(t *testing.T) {
	all, err := vector.Load(vectors.Files)
	if err != nil {
		t.Fatal(err)
	}
	recordingtest.Run(t, all, func(t *testing.T, v *vector.Vector, play func(vector.Fixture, error)) {
		h, err := refhost.New(v, run)
		if err != nil {
			t.Fatal(err)
		}
		play(h, nil)
	})
}

// run calls the function of an export, as the module does.
func run(export string, input []byte, h refhost.HostFunctions) ([]byte, error) {
	switch export {
	case abi.ExportDescribe:
		return tool.Describe(), nil
	case abi.ExportCall:
		return tool.Call(h, input), nil
	}
	return tool.Resume(h, input), nil
}
