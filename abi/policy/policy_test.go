package policy_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/policy"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

func deny(r policy.Rule) policy.Rule {
	r.Action = policy.Deny
	return r
}

func allow(r policy.Rule) policy.Rule {
	r.Action = policy.Allow
	return r
}

func send(def string, rules ...policy.Rule) *policy.Send {
	return &policy.Send{Rules: rules, Default: def}
}

// keys are the default key settings, used by most tests.
var keys sessionkey.Settings

// check compares a decision with the expected end of the refusal's text; "" means that
// the message is allowed.
func check(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" {
		if err != nil {
			t.Errorf("refused: %v", err)
		}
		return
	}
	if !errors.Is(err, abi.Forbidden) || !strings.HasSuffix(err.Error(), ": "+want) {
		t.Errorf("got %v, want Forbidden: … %s", err, want)
	}
}

// TestSendPrecedence covers all combinations of override, default and rules, and checks
// the precedence of S8.1.
func TestSendPrecedence(t *testing.T) {
	match := policy.Rule{Channel: "discord"}
	miss := policy.Rule{Channel: "slack"}
	s := abi.Session{Key: "agent:main:discord:group:1", AgentID: "main"}
	for _, override := range []string{"", "allow", "deny"} {
		for _, def := range []string{"", "allow", "deny"} {
			for denies := range 3 { // 0: no rule; 1: one that does not match; 2: one that matches
				for allows := range 3 {
					for _, allowFirst := range []bool{false, true} {
						want := ""
						switch {
						case override == "allow":
						case override == "deny":
							want = `the session's own sendPolicy is "deny"`
						case denies == 2:
							n := 1
							if allowFirst && allows > 0 {
								n = 2
							}
							want = fmt.Sprintf(`session.sendPolicy rule %d denies channel "discord"`, n)
						case allows == 2:
						case def == "deny":
							want = `session.sendPolicy.default is "deny"`
						}
						denying := [][]policy.Rule{nil, {deny(miss)}, {deny(match)}}[denies]
						allowing := [][]policy.Rule{nil, {allow(miss)}, {allow(match)}}[allows]
						rules := append(append([]policy.Rule{}, denying...), allowing...)
						if allowFirst {
							rules = append(append([]policy.Rule{}, allowing...), denying...)
						}
						t.Run(fmt.Sprintf("S8.1 override=%q default=%q rules=%v", override, def, rules), func(t *testing.T) {
							s := s
							s.SendPolicy = override
							p := send(def, rules...)
							check(t, p.Receive(keys, &s), want)
							check(t, p.Deliver(keys, &s, abi.Target{Channel: "discord", To: "1"}), want)
						})
					}
				}
			}
		}
	}
}

// TestRuleMatch checks which receiving sessions a single rule matches.
func TestRuleMatch(t *testing.T) {
	group := abi.Session{Key: "agent:main:discord:group:1", AgentID: "main"}
	channel := abi.Session{Key: "agent:main:slack:channel:C1:thread:2", AgentID: "main"}
	with := func(s abi.Session, change func(*abi.Session)) abi.Session {
		change(&s)
		return s
	}
	dm := abi.Session{Key: "agent:ops:dm:7", AgentID: "ops"}
	for _, tt := range []struct {
		name    string
		session abi.Session
		rule    policy.Rule
		want    bool
	}{
		{"empty rule", dm, policy.Rule{}, true},

		{"channel of a group key", group, policy.Rule{Channel: "discord"}, true},
		{"another channel", group, policy.Rule{Channel: "slack"}, false},
		{"channel in upper case", with(group, func(s *abi.Session) { s.Channel = "Discord" }), policy.Rule{Channel: "discord"}, true},
		{"a rule in upper case", group, policy.Rule{Channel: "DISCORD"}, true},
		{"the recorded channel wins for groups", with(group, func(s *abi.Session) { s.Channel = "slack" }), policy.Rule{Channel: "slack"}, true},
		{"a group's last channel does not count", with(group, func(s *abi.Session) { s.LastChannel = "slack" }), policy.Rule{Channel: "slack"}, false},
		{"last channel of a direct chat", with(dm, func(s *abi.Session) { s.LastChannel = "telegram" }), policy.Rule{Channel: "telegram"}, true},
		{"delivery context of a direct chat", with(dm, func(s *abi.Session) {
			s.LastChannel, s.DeliveryContext.Channel = "telegram", "signal"
		}), policy.Rule{Channel: "telegram"}, false},
		{"no channel", dm, policy.Rule{Channel: "unknown"}, true},
		{"cron is internal", abi.Session{Key: "agent:main:cron:x", LastChannel: "telegram"}, policy.Rule{Channel: "internal"}, true},
		{"hook is internal", abi.Session{Key: "agent:main:hook:x"}, policy.Rule{Channel: "internal"}, true},
		{"node is internal", abi.Session{Key: "agent:main:node-x"}, policy.Rule{Channel: "internal"}, true},

		{"group by its key", group, policy.Rule{ChatType: "group"}, true},
		{"channel by its key", channel, policy.Rule{ChatType: "channel"}, true},
		{"a channel is not a group", channel, policy.Rule{ChatType: "group"}, false},
		{"the recorded type wins", with(group, func(s *abi.Session) { s.ChatType = "channel" }), policy.Rule{ChatType: "group"}, false},
		{"the recorded type counts", with(group, func(s *abi.Session) { s.ChatType = "Channel" }), policy.Rule{ChatType: "channel"}, true},
		{"recorded direct", with(dm, func(s *abi.Session) { s.ChatType = "direct" }), policy.Rule{ChatType: "direct"}, true},
		{"an unknown type is not direct", dm, policy.Rule{ChatType: "direct"}, false},
		{"a main session is not direct", abi.Session{Key: "agent:main:main"}, policy.Rule{ChatType: "direct"}, false},
		{"a cron job is not a group", abi.Session{Key: "agent:main:cron:a:group:1"}, policy.Rule{ChatType: "group"}, false},

		{"prefix of the key", dm, policy.Rule{KeyPrefix: "agent:ops:"}, true},
		{"prefix of the rest", dm, policy.Rule{KeyPrefix: "dm:"}, true},
		{"the whole key", dm, policy.Rule{KeyPrefix: "agent:ops:dm:7"}, true},
		{"more than the key", dm, policy.Rule{KeyPrefix: "agent:ops:dm:70"}, false},
		{"within the key", dm, policy.Rule{KeyPrefix: "ops:"}, false},
		{"keys are case-sensitive", dm, policy.Rule{KeyPrefix: "DM:"}, false},
		{"the key without a rest", abi.Session{Key: "global"}, policy.Rule{KeyPrefix: "glob"}, true},
		{"no rest", abi.Session{Key: "global"}, policy.Rule{KeyPrefix: "main"}, false},

		{"all members", group, policy.Rule{Channel: "discord", ChatType: "group", KeyPrefix: "discord:group:"}, true},
		{"all but the channel", group, policy.Rule{Channel: "slack", ChatType: "group", KeyPrefix: "discord:group:"}, false},
		{"all but the type", group, policy.Rule{Channel: "discord", ChatType: "channel", KeyPrefix: "discord:group:"}, false},
		{"all but the prefix", group, policy.Rule{Channel: "discord", ChatType: "group", KeyPrefix: "slack:"}, false},
	} {
		t.Run("S8.1 "+tt.name, func(t *testing.T) {
			if err := send("allow", deny(tt.rule)).Receive(keys, &tt.session); (err != nil) != tt.want {
				t.Errorf("deny rule: %v, want match %v", err, tt.want)
			}
			if err := send("deny", allow(tt.rule)).Receive(keys, &tt.session); (err == nil) != tt.want {
				t.Errorf("allow rule: %v, want match %v", err, tt.want)
			}
		})
	}
}

// TestDeliver checks that a rule matches the target's channel, and the session's chat
// type and key.
func TestDeliver(t *testing.T) {
	s := abi.Session{Key: "agent:main:discord:group:1", AgentID: "main", LastChannel: "slack"}
	for _, tt := range []struct {
		channel string
		rule    policy.Rule
		want    bool
	}{
		{"telegram", policy.Rule{Channel: "telegram"}, true},
		{"Telegram", policy.Rule{Channel: "telegram"}, true},
		{"telegram", policy.Rule{Channel: "discord"}, false},
		{"telegram", policy.Rule{Channel: "slack"}, false},
		{"telegram", policy.Rule{ChatType: "group"}, true},
		{"telegram", policy.Rule{Channel: "telegram", KeyPrefix: "discord:"}, true},
		{"telegram", policy.Rule{Channel: "telegram", KeyPrefix: "telegram:"}, false},
	} {
		err := send("allow", deny(tt.rule)).Deliver(keys, &s, abi.Target{Channel: tt.channel, To: "1"})
		if (err != nil) != tt.want {
			t.Errorf("S8.3 to %s with %+v: %v, want match %v", tt.channel, tt.rule, err, tt.want)
		}
	}
}

func TestRefusalTexts(t *testing.T) {
	everything := policy.Rule{}
	narrow := policy.Rule{Channel: "discord", ChatType: "group", KeyPrefix: "discord:"}
	group := &abi.Session{Key: "agent:ops:discord:group:1", AgentID: "ops"}
	main := &abi.Session{Key: "agent:ops:main", AgentID: "ops", SendPolicy: "deny"}
	for _, tt := range []struct {
		err  error
		want string
	}{
		{send("allow", allow(everything), deny(narrow)).Receive(keys, group),
			`the session takes no messages: session.sendPolicy rule 2 denies channel "discord", chatType "group", keyPrefix "discord:"`},
		{send("allow", deny(everything)).Receive(keys, group),
			`the session takes no messages: session.sendPolicy rule 1 denies every session`},
		{send("allow").Receive(keys, main), `the session takes no messages: the session's own sendPolicy is "deny"`},
		{send("deny").Receive(sessionkey.Settings{GlobalScope: true}, &abi.Session{Key: "global", AgentID: "ops"}), `the session takes no messages: session.sendPolicy.default is "deny"`},
		{send("deny").Deliver(keys, group, abi.Target{Channel: "telegram", To: "5"}),
			`nothing is delivered to channel "telegram" for session "agent:ops:discord:group:1": session.sendPolicy.default is "deny"`},
	} {
		if !errors.Is(tt.err, abi.Forbidden) || tt.err.Error() != tt.want {
			t.Errorf("got  %v\nwant %s", tt.err, tt.want)
		}
	}
}

// TestUnknownOverride checks that an override other than allow and deny is ignored.
func TestUnknownOverride(t *testing.T) {
	s := &abi.Session{Key: "agent:main:main", SendPolicy: "inherit"}
	if err := send("deny").Receive(keys, s); err == nil {
		t.Error("an unknown override allows")
	}
	if err := send("allow").Receive(keys, s); err != nil {
		t.Errorf("an unknown override denies: %v", err)
	}
}
