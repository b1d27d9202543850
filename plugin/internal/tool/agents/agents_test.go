package agents

import (
	"errors"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/plugin/guest"
)

func TestCall(t *testing.T) {
	const config = `{"agents":{"list":[{"id":"main","name":"Main","subagents":{"allowAgents":["OPS","ghost","main"]}},
		{"id":"ops","default":true},{"id":"dev","subagents":{"allowAgents":["*"]}},{"id":"art","name":" "}]}}`
	tests := []struct {
		name   string
		caller abi.Caller
		config string
		want   string
	}{
		{"own agent and allowed agents", abi.Caller{SessionKey: "agent:main:main", AgentID: "main"}, config,
			`{"requester":"main","allowAny":false,"agents":[{"id":"main","name":"Main"},{"id":"ops"}]}`},
		{"own agent only", abi.Caller{SessionKey: "agent:ops:main", AgentID: "ops"}, config,
			`{"requester":"ops","allowAny":false,"agents":[{"id":"ops"}]}`},
		{"any", abi.Caller{SessionKey: "agent:dev:main", AgentID: "dev"}, config,
			`{"requester":"dev","allowAny":true,"agents":[{"id":"dev"},{"id":"art"},{"id":"main","name":"Main"},{"id":"ops"}]}`},
		{"agent that is not configured", abi.Caller{SessionKey: "agent:gone:main", AgentID: "gone"}, config,
			`{"requester":"gone","allowAny":false,"agents":[{"id":"gone"}]}`},
		{"operator", abi.Caller{Operator: true}, config,
			`{"requester":"ops","allowAny":true,"agents":[{"id":"ops"},{"id":"art"},{"id":"dev"},{"id":"main","name":"Main"}]}`},
		{"no configuration", abi.Caller{SessionKey: "agent:main:main", AgentID: "main"}, ``,
			`{"requester":"main","allowAny":false,"agents":[{"id":"main"}]}`},
	}
	for _, tt := range tests {
		t.Run("S6 "+tt.name, func(t *testing.T) {
			got, err := Call(nil, &guest.Input{Caller: tt.caller, Config: tt.config}, []byte("x"))
			if err != nil || string(got) != "x"+tt.want {
				t.Errorf("%v\n got %s\nwant %s", err, got[1:], tt.want)
			}
		})
	}
}

func TestCallRefuses(t *testing.T) {
	in := &guest.Input{Caller: abi.Caller{Operator: true}, Args: `{"agentId":"main"}`}
	if _, err := Call(nil, in, nil); !errors.Is(err, abi.InvalidArgs) {
		t.Errorf("S0.2 unknown parameter: %v", err)
	}
	in = &guest.Input{Caller: abi.Caller{Operator: true}, Config: `{"session":{"scope":"x"}}`}
	var f *guest.Fault
	if _, err := Call(nil, in, nil); !errors.As(err, &f) {
		t.Errorf("configuration: %v", err)
	}
}
