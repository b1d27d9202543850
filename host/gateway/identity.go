package gateway

import (
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

// Identity is the authenticated client of a request: the operator, one session or one
// run of an agent. The operator may act as any session by naming its key. A client with a
// session's token is always that session, and an agent with its run's token is always
// that run. Nothing else in a request, such as tool arguments, determines the caller.
type Identity struct {
	// Caller is the operator, or the token's session or run.
	Caller abi.Caller
	// ID differs for each token and reveals nothing about it. Other identities cannot use
	// an object that this one opened, such as an MCP session.
	ID string
}

// OperatorIdentity returns the identity of a client that needs no token: the user who
// owns the process, over its socket or its standard input.
func OperatorIdentity() *Identity {
	return &Identity{Caller: abi.Caller{Operator: true}, ID: "operator"}
}

// As returns the caller of a request that names a session, in any form of a key
// (S1.1, S1.2). For an empty name it returns the identity's own caller. The operator acts
// as the named session. A session may name only itself: As fails with abi.Forbidden for
// any other key, and with abi.InvalidArgs for an invalid key.
func (i *Identity) As(name string, keys sessionkey.Settings) (abi.Caller, error) {
	name = strings.TrimSpace(name)
	if name == "" {
		return i.Caller, nil
	}
	own := i.Caller.AgentID
	if i.Caller.Operator {
		own = keys.Agent()
	}
	key, agent, err := resolve(name, own, keys)
	if err != nil {
		return abi.Caller{}, err
	}
	switch {
	case i.Caller.Operator:
		c := i.Caller
		c.Operator, c.SessionKey, c.AgentID = false, key, agent
		if sessionkey.IsChild(key) {
			c.Depth = 1
		}
		return c, nil
	case key == i.Caller.SessionKey && agent == i.Caller.AgentID:
		return i.Caller, nil
	}
	return abi.Caller{}, abi.NewError(abi.Forbidden,
		"this token is for session "+i.Caller.SessionKey+" only; omit sessionKey, or use the operator's token")
}

// resolve returns the canonical key of name and its agent. The canonical key "global" does
// not contain an agent (S1.3): its agent is the one in name, or own.
func resolve(name, own string, keys sessionkey.Settings) (key, agent string, err error) {
	if key, err = keys.Canonical(name, own); err != nil {
		return "", "", &abi.Error{Code: abi.InvalidArgs, Message: "sessionKey " + err.Error(), Cause: err}
	}
	if agent, _, ok := sessionkey.Split(key); ok {
		return key, agent, nil
	}
	if named, _, ok := sessionkey.Split(name); ok {
		agent, err = sessionkey.AgentID(named)
		return key, agent, err
	}
	return key, own, nil
}
