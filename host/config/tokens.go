package config

import (
	"strings"

	"github.com/parley-wasm/parley/abi/sessionkey"
)

// Token is a bearer token and the identity that it grants: the operator or a session.
type Token struct {
	Secret Secret `config:"token" format:"credential" unset:"Unset" missing:"has no token; give it as text or as {env: NAME}"`
	// Unset is the name of the secret's environment variable if the variable is not set.
	Unset    string
	Operator bool   `config:"operator"`
	Caller   Caller `config:"caller"` // not with Operator
}

// Caller is the session on whose behalf a token's holder calls tools.
type Caller struct {
	SessionKey string `config:"sessionKey" missing:"has no sessionKey; name the session of the token"` // canonical
	AgentID    string `config:"agentId" format:"agent"`
	Channel    string `config:"channel"`
	To         string `config:"to"`
	AccountID  string `config:"accountId"`
	ThreadID   string `config:"threadId"`
	Sandboxed  bool   `config:"sandboxed"`
}

func (t *Token) read(r *reader, v value) {
	if r.object(v, t) && v.get("caller").given() == t.Operator {
		r.problem(v, "must have either operator: true or a caller, and not both")
	}
}

// checkTokens makes the session keys of tokens canonical and reports duplicate tokens.
func (c *Config) checkTokens(r *reader, list value) {
	keys := c.Keys()
	seen := map[Secret]string{}
	for i := range c.Gateway.Tokens {
		t, at := &c.Gateway.Tokens[i], list.item(i)
		if first, ok := seen[t.Secret]; ok {
			r.problem(at, "has the same token as %s; each needs its own", first)
			continue
		}
		if t.Secret != "" {
			seen[t.Secret] = at.path
		}
		if r.valid(at) && !t.Operator {
			t.Caller.resolve(r, at.get("caller", "sessionKey"), keys)
		}
	}
}

// resolve makes the caller's key canonical (S1.1–S1.4) and sets the agent.
func (c *Caller) resolve(r *reader, at value, keys sessionkey.Settings) {
	agent := c.AgentID
	if after, ok := strings.CutPrefix(c.SessionKey, "agent:"); ok {
		id, _, _ := strings.Cut(after, ":")
		named, err := sessionkey.AgentID(id)
		if err == nil && agent != "" && agent != named {
			r.problem(at, "is a session of agent %q, but agentId is %q; leave agentId out", named, agent)
			return
		}
		agent = named
	}
	if agent == "" {
		agent = keys.Agent()
	}
	key, err := keys.Canonical(c.SessionKey, agent)
	if err != nil {
		r.problem(at, "%q %s", clip(c.SessionKey), err)
		return
	}
	c.SessionKey, c.AgentID = key, agent
}
