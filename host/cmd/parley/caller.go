package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host/gateway"
)

// asFlags name the session that calls a tool (S0.3).
type asFlags struct {
	As        string `placeholder:"KEY" help:"Call as this session; default: the operator, who sees everything."`
	Sandboxed bool   `help:"Call as a sandboxed session."`
}

func (f *asFlags) caller(keys sessionkey.Settings) (abi.Caller, error) {
	return (&callerFlags{asFlags: *f}).caller(keys)
}

// callerFlags name it by its agent too.
type callerFlags struct {
	asFlags
	Agent string `placeholder:"ID" help:"The agent that a bare --as key belongs to; alone: call as that agent's main session."`
}

// caller makes the flags a caller under the settings of the database's owner.
func (f *callerFlags) caller(keys sessionkey.Settings) (abi.Caller, error) {
	if f.As == "" && f.Agent == "" {
		if f.Sandboxed {
			return abi.Caller{}, usage(errors.New("--sandboxed: the operator is never sandboxed: add --as KEY or --agent ID"))
		}
		return abi.Caller{Operator: true}, nil
	}
	if f.Agent != "" {
		agent, err := sessionkey.AgentID(f.Agent)
		if err != nil {
			return abi.Caller{}, usage(fmt.Errorf("--agent %q: %w", f.Agent, err))
		}
		keys.DefaultAgent = agent // whose bare keys are
	}
	c, err := gateway.OperatorIdentity().As(orElse(strings.TrimSpace(f.As), sessionkey.Main), keys)
	if err != nil {
		return abi.Caller{}, usage(fmt.Errorf("--as: %w", err))
	}
	if f.Agent != "" && c.AgentID != keys.DefaultAgent {
		return abi.Caller{}, usage(fmt.Errorf("--as %s is not a session of --agent %s: leave one out", c.SessionKey, keys.DefaultAgent))
	}
	c.Sandboxed = f.Sandboxed
	return c, nil
}
