// Package policy evaluates the settings that restrict sessions and select their
// channels:
//
//   - the send policy (S8): whether a message may enter a session or leave for a channel;
//   - the tool policy (S5.4): whether a run may use a tool;
//   - the sandbox mode (S0.3): which callers are sandboxed;
//   - the channel shown for a session (S1.7) and the destination of its deliveries (S9).
//
// Plugin and host share it, so that callers see the channel to which messages are
// delivered. A host that does not trust its plugin evaluates the policy itself for every
// message and delivery, so that no plugin can bypass it.
package policy

import (
	"strconv"
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

// Actions of a send policy, and of a session's own override.
const (
	Allow = "allow"
	Deny  = "deny"
)

// Types of chat that a rule may match.
const (
	ChatDirect  = "direct"
	ChatGroup   = "group"
	ChatChannel = "channel"
)

// Send is the send policy, session.sendPolicy (S8.1). The first of these that applies
// decides: the session's own override, a rule that denies, a rule that allows, the
// default. If none applies, the message is allowed.
type Send struct {
	Rules   []Rule
	Default string // Allow or Deny; empty: Allow
}

// Rule is one rule of the send policy. All its non-empty members must match.
type Rule struct {
	Channel   string // case-insensitive
	ChatType  string // ChatDirect, ChatGroup or ChatChannel
	KeyPrefix string
	Action    string // Allow or Deny
}

// Receive returns nil if a message may enter the session, else an *abi.Error with
// abi.Forbidden that names the deciding setting. The text omits the session key,
// because its displayed form depends on the reader (S1.2).
func (p *Send) Receive(keys sessionkey.Settings, s *abi.Session) error {
	reason := p.denied(s, Channel(s, keys.KindOf(s.Key)))
	if reason == "" {
		return nil
	}
	return forbidden("the session takes no messages: " + reason)
}

// Deliver returns nil if a text of the session may be delivered to the target, else an
// error like that of Receive. Rules match the target's channel, not the session's.
func (p *Send) Deliver(keys sessionkey.Settings, s *abi.Session, t abi.Target) error {
	reason := p.denied(s, t.Channel)
	if reason == "" {
		return nil
	}
	return forbidden("nothing is delivered to channel " + strconv.Quote(t.Channel) + " for session " + strconv.Quote(keys.Display(s.Key, s.AgentID)) + ": " + reason)
}

func forbidden(reason string) error { return abi.NewError(abi.Forbidden, reason) }

// denied returns the reason why the policy denies the message, or "".
func (p *Send) denied(s *abi.Session, channel string) string {
	switch s.SendPolicy {
	case Allow:
		return ""
	case Deny:
		return `the session's own sendPolicy is "deny"`
	}
	c := chat{channel, chatType(s), s.Key}
	if i := c.firstRule(p.Rules, Deny); i >= 0 {
		return "session.sendPolicy rule " + strconv.Itoa(i+1) + " denies " + p.Rules[i].String()
	}
	if c.firstRule(p.Rules, Allow) < 0 && p.Default == Deny {
		return `session.sendPolicy.default is "deny"`
	}
	return ""
}

// chatType returns the session's type of chat: the stored one, else the one in the key
// of a group, else "", which no rule matches.
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

// chat holds the values that rules match.
type chat struct {
	channel, chatType, key string
}

// firstRule returns the index of the first matching rule with the action, or -1.
func (c chat) firstRule(rules []Rule, action string) int {
	for i := range rules {
		if r := &rules[i]; r.Action == action && c.matches(r) {
			return i
		}
	}
	return -1
}

func (c chat) matches(r *Rule) bool {
	return (r.Channel == "" || strings.EqualFold(r.Channel, c.channel)) &&
		(r.ChatType == "" || strings.EqualFold(r.ChatType, c.chatType)) &&
		(r.KeyPrefix == "" || c.hasKeyPrefix(r.KeyPrefix))
}

// hasKeyPrefix reports whether the key or its <rest> begins with the prefix.
func (c chat) hasKeyPrefix(prefix string) bool {
	_, rest, _ := sessionkey.Split(c.key)
	return strings.HasPrefix(c.key, prefix) || strings.HasPrefix(rest, prefix)
}

// String describes the sessions that the rule matches.
func (r *Rule) String() string {
	var parts []string
	for _, m := range [...]struct{ name, value string }{
		{"channel", r.Channel}, {"chatType", r.ChatType}, {"keyPrefix", r.KeyPrefix},
	} {
		if m.value != "" {
			parts = append(parts, m.name+" "+strconv.Quote(m.value))
		}
	}
	if parts == nil {
		return "every session"
	}
	return strings.Join(parts, ", ")
}
