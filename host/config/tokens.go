package config

import (
	"os"
	"strings"

	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host/config/internal/document"
)

// tokenAt is an entry of gateway.tokens, to be finished when the settings of
// keys are known.
type tokenAt struct {
	at     value
	token  Token
	key    value // of caller.sessionKey; its node is nil when there is none
	agent  string
	broken bool // something about it was a problem already
}

func (r *reader) token(v value) tokenAt {
	t := tokenAt{at: v}
	before := len(r.problems)
	c := &t.token.Caller
	found := r.object(v,
		field{"token", func(v value) {
			s, unset := r.secret(v)
			if t.token.Unset = unset; r.usable(v, s) {
				t.token.Secret = s
			}
		}},
		field{"operator", r.boolInto(&t.token.Operator)},
		field{"caller", func(v value) {
			found := r.object(v,
				field{"sessionKey", r.textInto(&c.SessionKey)},
				field{"agentId", func(v value) { t.agent, _ = r.agentID(v) }},
				field{"channel", r.textInto(&c.Channel)},
				field{"to", r.textInto(&c.To)},
				field{"accountId", r.textInto(&c.AccountID)},
				field{"threadId", r.textInto(&c.ThreadID)},
				field{"sandboxed", r.boolInto(&c.Sandboxed)},
			)
			var ok bool
			if t.key, ok = found["sessionKey"]; !ok && found != nil {
				r.problem(v, "has no sessionKey; name the session that the token stands for")
			}
		}},
	)
	if found != nil {
		if _, ok := found["token"]; !ok {
			r.problem(v, "has no token; give it as text or as {env: NAME}")
		}
		if _, ok := found["caller"]; ok == t.token.Operator {
			r.problem(v, "stands for nobody, or for two; give it either operator: true or a caller")
		}
	}
	t.broken = len(r.problems) > before
	return t
}

// readTokens resolves the tokens' session keys and refuses a token given twice.
func (c *Config) readTokens(r *reader, tokens []tokenAt) {
	seen := map[Secret]string{}
	for _, t := range tokens {
		if s := t.token.Secret; s != "" {
			if first, ok := seen[s]; ok {
				r.problem(t.at, "has the same token as %s; each needs its own", first)
				continue
			}
			seen[s] = t.at.path
		}
		if t.broken {
			continue
		}
		if !t.token.Operator && !c.resolve(r, &t) {
			continue
		}
		c.Gateway.Tokens = append(c.Gateway.Tokens, t.token)
	}
}

// resolve makes the caller's key canonical (S1.1–S1.4).
func (c *Config) resolve(r *reader, t *tokenAt) bool {
	keys, agent := c.Keys(), t.agent
	if after, ok := strings.CutPrefix(t.token.Caller.SessionKey, "agent:"); ok {
		id, _, _ := strings.Cut(after, ":")
		named, err := sessionkey.AgentID(id)
		if err == nil && agent != "" && agent != named {
			r.problem(t.key, "is a session of agent %q, but agentId is %q; leave agentId out", named, agent)
			return false
		}
		agent = named
	}
	if agent == "" {
		agent = keys.Agent()
	}
	key, err := keys.Canonical(t.token.Caller.SessionKey, agent)
	if err != nil {
		r.problem(t.key, "%q %s", clip(t.token.Caller.SessionKey), err)
		return false
	}
	t.token.Caller.SessionKey, t.token.Caller.AgentID = key, agent
	return true
}

// usable refuses a token that no Authorization header could carry.
func (r *reader) usable(v value, s Secret) bool {
	for _, c := range []byte(s) {
		if c <= ' ' || c > '~' {
			r.problem(v, "has characters that a bearer token cannot have; use visible ASCII without spaces")
			return false
		}
	}
	return true
}

// secret reads a secret, given as text or as {env: NAME}. A variable that is not
// set is no problem of the file: unset names it, for whoever needs the secret.
func (r *reader) secret(v value) (s Secret, unset string) {
	if v.node.Kind == document.Object {
		return r.fromEnvironment(v)
	}
	if v.node.Kind != document.String {
		r.problem(v, "is %s; it must be a string, or {env: NAME}", v.node.Kind)
		return "", ""
	}
	text, _ := r.text(v)
	return Secret(text), ""
}

// fromEnvironment reads {env: NAME}.
func (r *reader) fromEnvironment(v value) (s Secret, unset string) {
	var name string
	found := r.object(v, field{"env", r.textInto(&name)})
	if found != nil && name == "" && len(found) == 0 {
		r.problem(v, "names no environment variable; write {env: NAME}")
	}
	if s = Secret(strings.TrimSpace(os.Getenv(name))); s == "" {
		unset = name
	}
	return s, unset
}
