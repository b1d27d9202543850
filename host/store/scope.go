package store

import "github.com/parley-wasm/parley/abi"

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
