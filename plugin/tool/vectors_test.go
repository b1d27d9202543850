package tool_test

import (
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/abitest"
	"github.com/parley-wasm/parley/plugin/guest"
	"github.com/parley-wasm/parley/plugin/tool"
)

// TestVectors runs the conformance vectors on the plugin's code, without engine
// and sandbox. The reference store answers the host functions.
func TestVectors(t *testing.T) {
	vectors, err := abitest.Load("../../testdata/vectors")
	if err != nil {
		t.Fatal(err)
	}
	abitest.Run(t, vectors, func(_ *testing.T, v *abitest.Vector) (abitest.CallFunc, error) {
		store := abitest.NewStore(v.Store)
		return func(name string, args []byte) abitest.Answer {
			input := abi.CallInput{
				FlowID: "flow-1", Step: 1, CallID: "call-1", Now: v.Now, AcceptedAt: v.Now,
				Tool: name, Args: args, Caller: v.Caller, Config: v.Config,
			}
			h := &meter{store: store}
			answer := abitest.StepAnswer(tool.Call(h, input.AppendJSON(nil)))
			answer.HostCalls, answer.ReplyBytes = h.calls, h.bytes
			return answer
		}, nil
	})
}

// meter counts what a call asks of the store.
type meter struct {
	store        *abitest.Store
	calls, bytes int
}

var _ guest.Host = (*meter)(nil)

func (m *meter) Call(family string, request []byte) []byte {
	reply := m.store.Call(family, request)
	m.calls++
	m.bytes += len(reply)
	return reply
}
