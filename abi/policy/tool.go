package policy

import (
	"slices"
	"strconv"

	"github.com/parley-wasm/parley/abi"
)

// deniedByDefault lists the tools that runs of children may use only if Tools.Allow has
// them.
var deniedByDefault = []string{abi.ToolList, abi.ToolHistory, abi.ToolSend, abi.ToolAgents}

// Tools is the tool policy of children, tools.subagents.tools. Allow permits tools that
// are denied by default. Deny forbids tools and takes precedence. Both hold tool names,
// in which * matches any sequence of characters.
type Tools struct {
	Allow []string
	Deny  []string
}

// Check returns nil if the caller may use a tool, else an *abi.Error with abi.Forbidden
// that names the deciding setting. Runs of child sessions may use every tool except
// those that show and reach other sessions (S5.4), subject to Allow and Deny. A client
// that connects as a child session is not restricted, because the operator granted that
// connection. No child may spawn, neither in a run nor over a connection.
func (p *Tools) Check(caller *abi.Caller, tool string) error {
	if caller.Depth == 0 {
		return nil
	}
	switch {
	case tool == abi.ToolSpawn:
		return forbidden(tool + " is not for child sessions, and no setting allows it: do the task in this session")
	case caller.RunID == "":
		return nil
	}
	if i := firstMatch(p.Deny, tool); i >= 0 {
		return forbidden(tool + " is not for child sessions: tools.subagents.tools.deny has " + strconv.Quote(p.Deny[i]) + "; do without it, or ask the operator to change the setting")
	}
	if slices.Contains(deniedByDefault, tool) && !MatchAny(p.Allow, tool) {
		return forbidden(tool + " is not for child sessions unless tools.subagents.tools.allow has it; do without it, or ask the operator to change the setting")
	}
	return nil
}
