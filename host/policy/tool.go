package policy

import (
	"slices"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/config"
)

// withheld are the tools that children have only if the settings give them back.
var withheld = []string{abi.ToolList, abi.ToolHistory, abi.ToolSend, abi.ToolAgents}

// Tool reports whether the caller may use a tool: nil, or an *abi.Error with
// abi.Forbidden that names the setting that decides. The runs of child sessions are
// restricted (S5.4) to every tool there is but those that show and reach other
// sessions. tools.subagents.tools.allow gives these back, deny takes away whatever it
// matches. Who speaks as a child over a connection of its own has what the operator
// meant by that; but nothing lets a child spawn.
func Tool(c *config.Config, caller *abi.Caller, tool string) error {
	if caller.Depth == 0 {
		return nil
	}
	p := &c.Tools.Subagents
	switch {
	case tool == abi.ToolSpawn:
		return forbidden("%s is not for child sessions, and no setting allows it: do the task in this session", tool)
	case caller.RunID == "":
		return nil
	}
	if denied := matching(p.Deny, tool); denied != "" {
		return forbidden("%s is not for child sessions: tools.subagents.tools.deny has %q; do without it, or ask the operator to change the setting", tool, denied)
	}
	if slices.Contains(withheld, tool) && matching(p.Allow, tool) == "" {
		return forbidden("%s is not for child sessions unless tools.subagents.tools.allow has it; do without it, or ask the operator to change the setting", tool)
	}
	return nil
}

// matching returns the first pattern that the name matches, or "".
func matching(patterns []string, name string) string {
	for _, p := range patterns {
		if match(p, name) {
			return p
		}
	}
	return ""
}
