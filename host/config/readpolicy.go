package config

import (
	"strings"

	"github.com/parley-wasm/parley/abi/policy"
)

// readOwners reads senders as <channel>:<senderId>.
func (s *Session) readOwners(r *reader, v value) {
	s.Owners = []string{}
	r.list(v, func(v value) {
		text, ok := r.text(v)
		if !ok {
			return
		}
		channel, sender, _ := strings.Cut(text, ":")
		channel, sender = strings.ToLower(strings.TrimSpace(channel)), strings.TrimSpace(sender)
		if channel == "" || sender == "" {
			r.problem(v, `%q names no sender; write <channel>:<senderId>, such as "telegram:123"`, clip(text))
			return
		}
		s.Owners = append(s.Owners, channel+":"+sender)
	})
}

func (r *reader) sendPolicy(p *policy.Send, v value) {
	r.object(v,
		field{"rules", func(v value) {
			p.Rules = []policy.Rule{}
			r.list(v, func(v value) { p.Rules = append(p.Rules, r.policyRule(v)) })
		}},
		field{"default", r.enumInto(&p.Default, policy.Allow, policy.Deny)},
	)
}

func (r *reader) policyRule(v value) (rule policy.Rule) {
	found := r.object(v,
		field{"match", func(v value) {
			r.object(v,
				field{"channel", func(v value) {
					if s, ok := r.text(v); ok {
						rule.Channel = strings.ToLower(s)
					}
				}},
				field{"chatType", r.enumInto(&rule.ChatType, policy.ChatDirect, policy.ChatGroup, policy.ChatChannel)},
				field{"keyPrefix", r.textInto(&rule.KeyPrefix)},
			)
		}},
		field{"action", r.enumInto(&rule.Action, policy.Allow, policy.Deny)},
	)
	if _, ok := found["match"]; !ok && found != nil {
		r.problem(v, "has no match; write match: {} if it is for every session")
	}
	if _, ok := found["action"]; !ok && found != nil {
		r.problem(v, "has no action; write allow or deny")
	}
	return rule
}
