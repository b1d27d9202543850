// Package policy decides what the settings forbid: the send policy (S8), whether a
// message may enter a session or leave for a channel, and the tool policy (S5.4),
// whether a run may use a tool. It is decided in the host alone, for every way in
// and out, so that no plugin gets round it.
//
// Of the send policy the first of these that says something decides: the session's
// own override, a rule that denies, a rule that allows, the default. Where none
// does, the way is open. The tool policy is for the runs of children: Tool.
package policy

import (
	"fmt"
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/route"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host/config"
)

// Receive reports whether a message may enter the session: nil, or an *abi.Error
// with abi.Forbidden that names the setting that decides. It leaves out the key,
// which is another one for everybody who reads it (S1.2).
func Receive(c *config.Config, s *abi.Session) error {
	reason := denied(c, s, route.Channel(s, c.Keys().KindOf(s.Key)))
	if reason == "" {
		return nil
	}
	return forbidden("the session takes no messages: %s", reason)
}

// Deliver reports whether a text may leave for the target on behalf of the
// session, as Receive does. The channel that rules are asked about is the
// target's.
func Deliver(c *config.Config, s *abi.Session, t abi.Target) error {
	reason := denied(c, s, t.Channel)
	if reason == "" {
		return nil
	}
	return forbidden("nothing is delivered to channel %q for session %q: %s", t.Channel, c.Keys().Display(s.Key, s.AgentID), reason)
}

func forbidden(format string, args ...any) error {
	return abi.NewError(abi.Forbidden, fmt.Sprintf(format, args...))
}

// denied returns what closes the way, in words, or "".
func denied(c *config.Config, s *abi.Session, channel string) string {
	switch s.SendPolicy {
	case config.PolicyAllow:
		return ""
	case config.PolicyDeny:
		return `the session's own sendPolicy is "deny"`
	}
	p := &c.Session.SendPolicy
	where := chat{channel, chatType(s), s.Key}
	if i := where.firstRule(p.Rules, config.PolicyDeny); i >= 0 {
		return fmt.Sprintf("session.sendPolicy rule %d denies %s", i+1, describe(&p.Rules[i]))
	}
	if where.firstRule(p.Rules, config.PolicyAllow) < 0 && p.Default == config.PolicyDeny {
		return `session.sendPolicy.default is "deny"`
	}
	return ""
}

// chatType returns the type of chat that the session is: the recorded one, else
// what the key of a group says, else "", which no rule matches.
func chatType(s *abi.Session) string {
	if s.ChatType != "" {
		return s.ChatType
	}
	if sessionkey.Kind(s.Key) == sessionkey.KindGroup {
		g, _ := sessionkey.ParseGroup(s.Key)
		return g.ChatType
	}
	return ""
}

// chat is what rules are asked about.
type chat struct {
	channel, chatType, key string
}

// firstRule returns the index of the first rule with the action that matches, or
// -1.
func (w chat) firstRule(rules []config.PolicyRule, action string) int {
	for i := range rules {
		if r := &rules[i]; r.Action == action && w.matches(r) {
			return i
		}
	}
	return -1
}

func (w chat) matches(r *config.PolicyRule) bool {
	return (r.Channel == "" || strings.EqualFold(r.Channel, w.channel)) &&
		(r.ChatType == "" || strings.EqualFold(r.ChatType, w.chatType)) &&
		(r.KeyPrefix == "" || w.under(r.KeyPrefix))
}

// under reports whether the key, or its <rest>, begins with the prefix.
func (w chat) under(prefix string) bool {
	_, rest, _ := sessionkey.Split(w.key)
	return strings.HasPrefix(w.key, prefix) || strings.HasPrefix(rest, prefix)
}

// describe says in words what a rule matches.
func describe(r *config.PolicyRule) string {
	var parts []string
	for _, m := range [...]struct{ name, value string }{
		{"channel", r.Channel}, {"chatType", r.ChatType}, {"keyPrefix", r.KeyPrefix},
	} {
		if m.value != "" {
			parts = append(parts, fmt.Sprintf("%s %q", m.name, m.value))
		}
	}
	if parts == nil {
		return "every session"
	}
	return strings.Join(parts, ", ")
}
