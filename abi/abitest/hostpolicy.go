package abitest

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/route"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

// hostSettings are the settings that the reference host itself follows. They are
// read leniently: whether a configuration is right is not its business.
type hostSettings struct {
	keys        sessionkey.Settings
	owners      []string
	policy      any // session.sendPolicy
	sandbox     any // agents.defaults.sandbox.mode
	agents      []any
	maxAttempts int
	runSeconds  int64
}

func settingsOf(config map[string]any) hostSettings {
	at := func(pointer string) any {
		v, _ := Lookup(config, pointer)
		return v
	}
	s := hostSettings{policy: at("/session/sendPolicy"), sandbox: at("/agents/defaults/sandbox/mode"), maxAttempts: 2, runSeconds: 600}
	s.keys.MainKey, _ = at("/session/mainKey").(string)
	s.keys.GlobalScope = at("/session/scope") == "global"
	s.agents, _ = at("/agents/list").([]any)
	for i, item := range s.agents {
		a, _ := item.(map[string]any)
		if id, ok := a["id"].(string); ok && (i == 0 || a["default"] == true) {
			s.keys.DefaultAgent = id
		}
	}
	owners, _ := at("/session/owners").([]any)
	for _, o := range owners {
		s.owners = append(s.owners, text(o))
	}
	if n, ok := at("/runs/maxAttempts").(json.Number); ok {
		s.maxAttempts, _ = strconv.Atoi(string(n))
	}
	if n, ok := at("/runs/timeoutSeconds").(json.Number); ok {
		s.runSeconds, _ = n.Int64()
	}
	return s
}

func (s *hostSettings) agentOf(key string) string {
	if id, _, ok := sessionkey.Split(key); ok {
		return id
	}
	return s.keys.Agent()
}

func (s *hostSettings) owns(channel, sender string) bool {
	return slices.Contains(s.owners, strings.ToLower(channel)+":"+sender)
}

// sandboxed reports whether the runs of a session are sandboxed callers (S0.3).
func (s *hostSettings) sandboxed(key, agentID string) bool {
	mode := s.sandbox
	for _, item := range s.agents {
		if id, _ := Lookup(item, "/id"); id == agentID {
			if own, ok := Lookup(item, "/sandbox/mode"); ok {
				mode = own
			}
		}
	}
	return mode == "all" || mode == "non-main" && !s.keys.IsMain(key)
}

// Actions of the send policy, also as a session's override.
const (
	allow = "allow"
	deny  = "deny"
)

// receives decides whether a message may enter a session (S8.1, S8.3).
func (s *hostSettings) receives(session *abi.Session) error {
	return s.passes(session, route.Channel(session, s.keys.KindOf(session.Key)))
}

// passes decides whether something may enter or leave a session by a channel.
func (s *hostSettings) passes(session *abi.Session, channel string) error {
	decision := session.SendPolicy
	for _, action := range []string{deny, allow} {
		if decision == "" && s.rule(session, channel, action) {
			decision = action
		}
	}
	if decision == "" {
		v, _ := Lookup(s.policy, "/default")
		decision, _ = v.(string)
	}
	if decision == deny {
		return abi.NewError(abi.Forbidden, "session.sendPolicy closes the session")
	}
	return nil
}

// rule reports whether a rule with this action matches.
func (s *hostSettings) rule(session *abi.Session, channel, action string) bool {
	rules, _ := Lookup(s.policy, "/rules")
	all, _ := rules.([]any)
	return slices.ContainsFunc(all, func(item any) bool {
		if a, _ := Lookup(item, "/action"); a != action {
			return false
		}
		match, _ := Lookup(item, "/match")
		o, _ := match.(map[string]any)
		for name, v := range o {
			want := text(v)
			switch name {
			case "channel":
				if !strings.EqualFold(want, channel) {
					return false
				}
			case "chatType":
				if !strings.EqualFold(want, chatType(session)) {
					return false
				}
			case "keyPrefix":
				_, rest, _ := sessionkey.Split(session.Key)
				if !strings.HasPrefix(session.Key, want) && !strings.HasPrefix(rest, want) {
					return false
				}
			}
		}
		return true
	})
}

// chatType is the type of chat as far as it is known.
func chatType(session *abi.Session) string {
	if session.ChatType == "" {
		if g, ok := sessionkey.ParseGroup(session.Key); ok {
			return g.ChatType
		}
	}
	return session.ChatType
}
