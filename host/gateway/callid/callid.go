// Package callid is the rule for the ids that callers give their calls (S4.4),
// whichever way they come: Idempotency-Key over HTTP, _meta.callId over MCP.
package callid

import "github.com/parley-wasm/parley/abi"

// MaxLen is the longest id, in bytes.
const MaxLen = 256

// Check refuses ids that are no visible ASCII of at most MaxLen bytes, with
// abi.InvalidArgs and a text about name, which is where the id was given. An empty
// id is none: the host makes one.
func Check(name, id string) error {
	if len(id) > MaxLen {
		return abi.NewError(abi.InvalidArgs, name+" is longer than 256 bytes")
	}
	for i := 0; i < len(id); i++ {
		if id[i] <= ' ' || id[i] > '~' {
			return abi.NewError(abi.InvalidArgs, name+" has characters other than visible ASCII")
		}
	}
	return nil
}
