package store

import "github.com/parley-wasm/parley/abi"

// ScopeOf returns the scope of a caller: a run, a session, or the operator. Call ids
// are unique within a scope, and only callers of the same scope may wait for the runs
// that a call started (S4.4).
func ScopeOf(c *abi.Caller) string {
	switch {
	case c.Operator:
		return "operator"
	case c.RunID != "":
		return "run:" + c.RunID
	}
	return "session:" + c.AgentID + ":" + c.SessionKey
}
