package policy

import (
	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

// Sandbox modes, agents.defaults.sandbox.mode and agents.list[].sandbox.mode. They
// select the sessions whose runs and connections are sandboxed callers (S0.3, S7.3).
const (
	SandboxOff     = "off"
	SandboxNonMain = "non-main" // every session except the agent's main session
	SandboxAlways  = "all"
)

// Sandboxed reports whether the mode sandboxes a session of the agent.
func Sandboxed(mode string, keys sessionkey.Settings, agentID, sessionKey string) bool {
	return mode == SandboxAlways || mode == SandboxNonMain && sessionKey != keys.MainOf(agentID)
}

// Depth returns 1 for a child session, else 0 (S5.2).
func Depth(s *abi.Session) int {
	if s.SpawnedBy != "" || sessionkey.IsChild(s.Key) {
		return 1
	}
	return 0
}
