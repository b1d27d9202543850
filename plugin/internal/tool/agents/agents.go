// Package agents implements the tool agents_list (S6): it lists the agents that
// sessions_spawn accepts as agentId.
package agents

import (
	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/abi/schema"
	"github.com/parley-wasm/parley/plugin/guest"
	"github.com/parley-wasm/parley/plugin/internal/args"
	"github.com/parley-wasm/parley/plugin/rules/settings"
	"github.com/parley-wasm/parley/plugin/rules/visibility"
)

// Tool describes agents_list.
func Tool() abi.Tool {
	return abi.Tool{
		Name: abi.ToolAgents,
		Description: "List the agents for which you may spawn sessions: the ids that sessions_spawn accepts as agentId. " +
			"Your own agent comes first. allowAny says that every configured agent is allowed.",
		InputSchema:  schema.AgentsInput,
		OutputSchema: schema.AgentsOutput,
		ReadOnly:     true,
		Needs:        []string{"tools", "agents"},
	}
}

// Call appends the tool's result. It fails with an *abi.Error or a *guest.Fault.
func Call(_ guest.Host, in *guest.Input, dst []byte) ([]byte, error) {
	if err := args.Read(in.Args).Done(); err != nil {
		return dst, err
	}
	s, err := settings.Parse(in.Config)
	if err != nil {
		return dst, &guest.Fault{Err: err}
	}
	own := visibility.New(s, &in.Caller).Agent
	any, ids := s.Allowed(own, in.Caller.Operator)

	o := jsonappend.Open(dst)
	o.String("requester", own)
	o.Bool("allowAny", any)
	b := appendAgent(append(o.Key("agents"), '['), s, own)
	for _, id := range ids {
		b = appendAgent(append(b, ','), s, id)
	}
	o.Value(append(b, ']'))
	return o.Close(), nil
}

func appendAgent(b []byte, s *settings.Settings, id string) []byte {
	o := jsonappend.Open(b)
	o.String("id", id)
	if a := s.Find(id); a != nil {
		o.OptString("name", a.Name)
	}
	return o.Close()
}
