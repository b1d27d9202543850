package tool_test

import (
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/abitest"
	"github.com/parley-wasm/parley/plugin/tool"
)

// TestVectors runs the conformance vectors on the plugin's code, without engine
// and sandbox, in the reference host.
func TestVectors(t *testing.T) {
	vectors, err := abitest.Load("../../testdata/vectors")
	if err != nil {
		t.Fatal(err)
	}
	abitest.Run(t, vectors, func(t *testing.T, v *abitest.Vector, play func(abitest.World, error)) {
		h, err := abitest.NewHost(v, run)
		if err != nil {
			t.Fatal(err)
		}
		play(h, nil)
	})
}

// run runs an export as the module does.
func run(export string, input []byte, h abitest.HostFunctions) []byte {
	switch export {
	case abi.ExportDescribe:
		return tool.Describe()
	case abi.ExportCall:
		return tool.Call(h, input)
	}
	return tool.Resume(h, input)
}
