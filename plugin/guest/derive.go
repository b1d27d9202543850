package guest

import (
	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/policy"
)

// ParseDeriveRequest reads the input of derive under the rules of ParseCall. It also fails for
// unknown values of the session's sendPolicy and chatType: the send policy (S8) depends on
// them, so they must not be read as absent.
func ParseDeriveRequest(doc string) (*abi.DeriveRequest, *abi.Error) {
	q := &abi.DeriveRequest{}
	if bad := parse(doc, q); bad != nil {
		return nil, bad
	}
	switch q.Session.SendPolicy {
	case "", policy.Allow, policy.Deny:
	default:
		return nil, badInput("session.sendPolicy must be allow or deny")
	}
	switch q.Session.ChatType {
	case "", policy.ChatDirect, policy.ChatGroup, policy.ChatChannel:
	default:
		return nil, badInput("session.chatType must be direct, group or channel")
	}
	return q, nil
}
