package store

import (
	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

// ScopeOf returns within whose calls a call id is unique, and who may wait for
// what the call started (S4.4): a run, a session, or the operator.
func ScopeOf(c *abi.Caller) string {
	switch {
	case c.Operator:
		return "operator"
	case c.RunID != "":
		return "run:" + c.RunID
	}
	return "session:" + c.AgentID + ":" + c.SessionKey
}

// DepthOf returns 1 for a child session, else 0 (S5.2).
func DepthOf(s *abi.Session) int {
	if s.SpawnedBy != "" || sessionkey.IsChild(s.Key) {
		return 1
	}
	return 0
}
