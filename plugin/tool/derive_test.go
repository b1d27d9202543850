package tool_test

import (
	"testing"

	"github.com/parley-wasm/parley/abi/abitest"
	"github.com/parley-wasm/parley/plugin/tool"
)

// The transcripts of derive are written by hand: they are what it must answer.
func TestDerive(t *testing.T) {
	abitest.ReplayAll(t, "../../testdata/transcripts/derive", func(x *abitest.Exchange, _ *abitest.Replay) ([]byte, error) {
		return tool.Derive(x.Input), nil
	})
}
