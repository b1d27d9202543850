package refhost

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/internal/jsonvalue"
	"github.com/parley-wasm/parley/abi/policy"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

// hostSettings holds the settings that the reference host itself uses. It reads them
// leniently: the reference host does not validate configurations.
type hostSettings struct {
	keys               sessionkey.Settings
	owners             []string
	policy             any // session.sendPolicy
	sandbox            any // agents.defaults.sandbox.mode
	agents             []any
	maxAttempts        int
	runSeconds         int64
	maxRunningChildren int // in all sessions
	maxActiveChildren  int // of one session
	pricing            any // models.pricing
}

func settingsOf(config map[string]any) hostSettings {
	at := func(pointer string) any {
		v, _ := jsonvalue.Lookup(config, pointer)
		return v
	}
	s := hostSettings{policy: at("/session/sendPolicy"), sandbox: at("/agents/defaults/sandbox/mode"), maxAttempts: 2, runSeconds: 600,
		maxRunningChildren: 8, maxActiveChildren: 5, pricing: at("/models/pricing")}
	if n, ok := at("/agents/defaults/subagents/maxChildrenPerAgent").(json.Number); ok {
		s.maxActiveChildren, _ = strconv.Atoi(string(n))
	}
	if n, ok := at("/agents/defaults/subagents/maxConcurrent").(json.Number); ok {
		s.maxRunningChildren, _ = strconv.Atoi(string(n))
	}
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
		s.owners = append(s.owners, jsonvalue.Text(o))
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

func (s *hostSettings) isOwner(channel, sender string) bool {
	return slices.Contains(s.owners, strings.ToLower(channel)+":"+sender)
}

// sandboxed reports whether calls of a session's runs are sandboxed (S0.3).
func (s *hostSettings) sandboxed(key, agentID string) bool {
	mode := s.sandbox
	for _, item := range s.agents {
		if id, _ := jsonvalue.Lookup(item, "/id"); id == agentID {
			if own, ok := jsonvalue.Lookup(item, "/sandbox/mode"); ok {
				mode = own
			}
		}
	}
	return mode == "all" || mode == "non-main" && !s.keys.IsMain(key)
}

// configured reports whether an agent with this id exists.
func (s *hostSettings) configured(id string) bool {
	return len(s.agents) == 0 && id == s.keys.Agent() || slices.ContainsFunc(s.agents, func(item any) bool {
		v, _ := jsonvalue.Lookup(item, "/id")
		return v == id
	})
}

// withCost returns the usage with its cost, if tokens and prices are known (S5.5).
func (s *hostSettings) withCost(model string, u *abi.Usage) *abi.Usage {
	if u == nil || u.Input == nil || u.Output == nil {
		return u
	}
	price := func(of string) float64 {
		v, _ := jsonvalue.Lookup(s.pricing, "/"+model+"/"+of)
		n, _ := v.(json.Number)
		f, _ := n.Float64()
		return f
	}
	if _, known := jsonvalue.Lookup(s.pricing, "/"+model); !known {
		return u
	}
	cost := float64(*u.Input)/1e6*price("inputPerMTok") + float64(*u.Output)/1e6*price("outputPerMTok")
	priced := *u
	priced.Cost = &cost
	return &priced
}

// Actions of the send policy, also as a session's override.
const (
	allow = "allow"
	deny  = "deny"
)

// checkReceive returns an error if the send policy denies messages to a session (S8.1,
// S8.3).
func (s *hostSettings) checkReceive(session *abi.Session) error {
	return s.checkPolicy(session, policy.Channel(session, s.keys.KindOf(session.Key)))
}

// checkPolicy returns an error if the send policy denies messages into or out of a
// session on a channel.
func (s *hostSettings) checkPolicy(session *abi.Session, channel string) error {
	decision := session.SendPolicy
	for _, action := range []string{deny, allow} {
		if decision == "" && s.rule(session, channel, action) {
			decision = action
		}
	}
	if decision == "" {
		v, _ := jsonvalue.Lookup(s.policy, "/default")
		decision, _ = v.(string)
	}
	if decision == deny {
		return abi.NewError(abi.Forbidden, "session.sendPolicy denies messages of this session")
	}
	return nil
}

// rule reports whether a rule with this action matches.
func (s *hostSettings) rule(session *abi.Session, channel, action string) bool {
	rules, _ := jsonvalue.Lookup(s.policy, "/rules")
	all, _ := rules.([]any)
	return slices.ContainsFunc(all, func(item any) bool {
		if a, _ := jsonvalue.Lookup(item, "/action"); a != action {
			return false
		}
		match, _ := jsonvalue.Lookup(item, "/match")
		o, _ := match.(map[string]any)
		for name, v := range o {
			want := jsonvalue.Text(v)
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

// chatType returns the session's chat type, or "" if it is unknown.
func chatType(session *abi.Session) string {
	if session.ChatType == "" {
		if g, ok := sessionkey.ParseGroup(session.Key); ok {
			return g.ChatType
		}
	}
	return session.ChatType
}
