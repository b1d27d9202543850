package gateway

import (
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

// Identity is the client that a request's credentials stand for: the operator, one
// session or one run of an agent. The operator may speak as any session by naming its
// key; the holder of a session's token is always that session, and an agent with its
// run's token always that run. Nothing else in a request, tool arguments least of all,
// says who calls.
type Identity struct {
	// Caller is the operator, or the token's session or run.
	Caller abi.Caller
	// ID is unique among the tokens and says nothing of the secret. What one
	// identity opened, such as an MCP session, another must not use.
	ID string
}

// OperatorIdentity is that of a client that needs no token: the user who owns the
// process, over its socket or its standard input.
func OperatorIdentity() *Identity {
	return &Identity{Caller: abi.Caller{Operator: true}, ID: "operator"}
}

// As returns the caller of a request that names a session, in any form of a key
// (S1.1, S1.2); an empty name is the identity itself. The operator becomes that
// session. A session may name only itself: any other key is abi.Forbidden. What
// is no key is abi.InvalidArgs.
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
		"this token stands for the session "+i.Caller.SessionKey+" alone; leave sessionKey out, or use the operator's token")
}

// resolve makes the key canonical and tells its agent, which the key "global"
// does not (S1.3).
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
