package policy

import (
	"slices"
	"strconv"

	"github.com/parley-wasm/parley/abi"
)

// withheld are the tools that children have only if the settings give them back.
var withheld = []string{abi.ToolList, abi.ToolHistory, abi.ToolSend, abi.ToolAgents}

// Tools is the tool policy of children, tools.subagents.tools: it gives tools back
// and takes them away; Deny wins. Both are names, with * for any run of characters.
type Tools struct {
	Allow []string
	Deny  []string
}

// Check reports whether the caller may use a tool: nil, or an *abi.Error with
// abi.Forbidden that names the setting that decides. The runs of child sessions are
// restricted (S5.4) to every tool there is but those that show and reach other
// sessions. Allow gives these back, Deny takes away whatever it matches. Who speaks
// as a child over a connection of its own has what the operator meant by that; but
// nothing lets a child spawn.
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
	if i := first(p.Deny, tool); i >= 0 {
		return forbidden(tool + " is not for child sessions: tools.subagents.tools.deny has " + strconv.Quote(p.Deny[i]) + "; do without it, or ask the operator to change the setting")
	}
	if slices.Contains(withheld, tool) && !MatchAny(p.Allow, tool) {
		return forbidden(tool + " is not for child sessions unless tools.subagents.tools.allow has it; do without it, or ask the operator to change the setting")
	}
	return nil
}
