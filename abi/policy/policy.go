// Package policy decides what settings forbid and where a session speaks: the send
// policy (S8), whether a message may enter a session or leave for a channel; the tool
// policy (S5.4), whether a run may use a tool; the sandbox mode (S0.3), whose callers
// are sandboxed; the channel that a session is shown with (S1.7) and the target of
// what is delivered for it (S9).
//
// Plugin and host share it, so that a caller sees the channel to which messages go. A
// host that does not trust its plugin decides by itself, for every way in and out, so
// that no plugin gets round it.
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

// Send is the send policy, session.sendPolicy (S8.1). The first of these that says
// something decides: the session's own override, a rule that denies, a rule that
// allows, the default. Where none does, the way is open.
type Send struct {
	Rules   []Rule
	Default string // Allow or Deny; empty: Allow
}

// Rule is one rule; all members that are set must match.
type Rule struct {
	Channel   string // in either case
	ChatType  string // ChatDirect, ChatGroup or ChatChannel
	KeyPrefix string
	Action    string // Allow or Deny
}

// Receive reports whether a message may enter the session: nil, or an *abi.Error
// with abi.Forbidden that names the setting that decides. It leaves out the key,
// which is another one for everybody who reads it (S1.2).
func (p *Send) Receive(keys sessionkey.Settings, s *abi.Session) error {
	reason := p.denied(s, Channel(s, keys.KindOf(s.Key)))
	if reason == "" {
		return nil
	}
	return forbidden("the session takes no messages: " + reason)
}

// Deliver reports whether a text may leave for the target on behalf of the
// session, as Receive does. The channel that rules are asked about is the
// target's.
func (p *Send) Deliver(keys sessionkey.Settings, s *abi.Session, t abi.Target) error {
	reason := p.denied(s, t.Channel)
	if reason == "" {
		return nil
	}
	return forbidden("nothing is delivered to channel " + strconv.Quote(t.Channel) + " for session " + strconv.Quote(keys.Display(s.Key, s.AgentID)) + ": " + reason)
}

func forbidden(reason string) error { return abi.NewError(abi.Forbidden, reason) }

// denied returns what closes the way, in words, or "".
func (p *Send) denied(s *abi.Session, channel string) string {
	switch s.SendPolicy {
	case Allow:
		return ""
	case Deny:
		return `the session's own sendPolicy is "deny"`
	}
	where := chat{channel, chatType(s), s.Key}
	if i := where.firstRule(p.Rules, Deny); i >= 0 {
		return "session.sendPolicy rule " + strconv.Itoa(i+1) + " denies " + p.Rules[i].String()
	}
	if where.firstRule(p.Rules, Allow) < 0 && p.Default == Deny {
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
func (w chat) firstRule(rules []Rule, action string) int {
	for i := range rules {
		if r := &rules[i]; r.Action == action && w.matches(r) {
			return i
		}
	}
	return -1
}

func (w chat) matches(r *Rule) bool {
	return (r.Channel == "" || strings.EqualFold(r.Channel, w.channel)) &&
		(r.ChatType == "" || strings.EqualFold(r.ChatType, w.chatType)) &&
		(r.KeyPrefix == "" || w.under(r.KeyPrefix))
}

// under reports whether the key, or its <rest>, begins with the prefix.
func (w chat) under(prefix string) bool {
	_, rest, _ := sessionkey.Split(w.key)
	return strings.HasPrefix(w.key, prefix) || strings.HasPrefix(rest, prefix)
}

// String says in words what the rule matches.
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
