package tool_test

import (
	"testing"

	"github.com/parley-wasm/parley/abi/abitest"
	"github.com/parley-wasm/parley/plugin/tool"
)

// The transcripts of derive are written by hand: they are what it must answer.
func TestDerive(t *testing.T) {
	all, err := abitest.LoadTranscripts("../../testdata/transcripts/derive")
	if err != nil || len(all) == 0 {
		t.Fatalf("%d transcripts: %v", len(all), err)
	}
	for _, transcript := range all {
		for i := range transcript.Exchanges {
			x := &transcript.Exchanges[i]
			for _, line := range x.Replay().Finish(tool.Derive(x.Input)) {
				t.Errorf("%s: %d: %s", transcript.ID, i, line)
			}
		}
	}
}
