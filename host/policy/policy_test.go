package policy_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/policy"
)

func deny(r config.PolicyRule) config.PolicyRule {
	r.Action = config.PolicyDeny
	return r
}

func allow(r config.PolicyRule) config.PolicyRule {
	r.Action = config.PolicyAllow
	return r
}

func settings(def string, rules ...config.PolicyRule) *config.Config {
	c := config.Default()
	c.Session.SendPolicy = config.SendPolicy{Rules: rules, Default: def}
	return c
}

// check compares what was decided with the end of the text that a refusal has,
// or with "" for none.
func check(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" {
		if err != nil {
			t.Errorf("refused: %v", err)
		}
		return
	}
	if !errors.Is(err, abi.Forbidden) || !strings.HasSuffix(err.Error(), ": "+want) {
		t.Errorf("decided %v, want Forbidden: … %s", err, want)
	}
}

// All combinations of what may decide, against the order of S8.1 written down as
// a table of its own.
func TestOrder(t *testing.T) {
	match := config.PolicyRule{Channel: "discord"}
	miss := config.PolicyRule{Channel: "slack"}
	s := abi.Session{Key: "agent:main:discord:group:1", AgentID: "main"}
	for _, override := range []string{"", "allow", "deny"} {
		for _, def := range []string{"", "allow", "deny"} {
			for denies := range 3 { // 0 none, 1 one that does not match, 2 one that matches
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
						denying := [][]config.PolicyRule{nil, {deny(miss)}, {deny(match)}}[denies]
						allowing := [][]config.PolicyRule{nil, {allow(miss)}, {allow(match)}}[allows]
						rules := append(append([]config.PolicyRule{}, denying...), allowing...)
						if allowFirst {
							rules = append(append([]config.PolicyRule{}, allowing...), denying...)
						}
						t.Run(fmt.Sprintf("S8.1 override=%q default=%q rules=%v", override, def, rules), func(t *testing.T) {
							s := s
							s.SendPolicy = override
							c := settings(def, rules...)
							check(t, policy.Receive(c, &s), want)
							check(t, policy.Deliver(c, &s, abi.Target{Channel: "discord", To: "1"}), want)
						})
					}
				}
			}
		}
	}
}

// What a single rule matches, of sessions that receive.
func TestMatch(t *testing.T) {
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
		rule    config.PolicyRule
		want    bool
	}{
		{"nothing given", dm, config.PolicyRule{}, true},

		{"channel of a group key", group, config.PolicyRule{Channel: "discord"}, true},
		{"another channel", group, config.PolicyRule{Channel: "slack"}, false},
		{"channel in upper case", with(group, func(s *abi.Session) { s.Channel = "Discord" }), config.PolicyRule{Channel: "discord"}, true},
		{"a rule in upper case", group, config.PolicyRule{Channel: "DISCORD"}, true},
		{"the recorded channel wins for groups", with(group, func(s *abi.Session) { s.Channel = "slack" }), config.PolicyRule{Channel: "slack"}, true},
		{"a group's last channel does not count", with(group, func(s *abi.Session) { s.LastChannel = "slack" }), config.PolicyRule{Channel: "slack"}, false},
		{"last channel of a direct chat", with(dm, func(s *abi.Session) { s.LastChannel = "telegram" }), config.PolicyRule{Channel: "telegram"}, true},
		{"delivery context of a direct chat", with(dm, func(s *abi.Session) {
			s.LastChannel, s.DeliveryContext.Channel = "telegram", "signal"
		}), config.PolicyRule{Channel: "telegram"}, false},
		{"no channel", dm, config.PolicyRule{Channel: "unknown"}, true},
		{"cron is internal", abi.Session{Key: "agent:main:cron:x", LastChannel: "telegram"}, config.PolicyRule{Channel: "internal"}, true},
		{"hook is internal", abi.Session{Key: "agent:main:hook:x"}, config.PolicyRule{Channel: "internal"}, true},
		{"node is internal", abi.Session{Key: "agent:main:node-x"}, config.PolicyRule{Channel: "internal"}, true},

		{"group by its key", group, config.PolicyRule{ChatType: "group"}, true},
		{"channel by its key", channel, config.PolicyRule{ChatType: "channel"}, true},
		{"a channel is no group", channel, config.PolicyRule{ChatType: "group"}, false},
		{"the recorded type wins", with(group, func(s *abi.Session) { s.ChatType = "channel" }), config.PolicyRule{ChatType: "group"}, false},
		{"the recorded type counts", with(group, func(s *abi.Session) { s.ChatType = "Channel" }), config.PolicyRule{ChatType: "channel"}, true},
		{"recorded direct", with(dm, func(s *abi.Session) { s.ChatType = "direct" }), config.PolicyRule{ChatType: "direct"}, true},
		{"direct is not guessed", dm, config.PolicyRule{ChatType: "direct"}, false},
		{"main is not direct", abi.Session{Key: "agent:main:main"}, config.PolicyRule{ChatType: "direct"}, false},
		{"a job is no group", abi.Session{Key: "agent:main:cron:a:group:1"}, config.PolicyRule{ChatType: "group"}, false},

		{"prefix of the key", dm, config.PolicyRule{KeyPrefix: "agent:ops:"}, true},
		{"prefix of the rest", dm, config.PolicyRule{KeyPrefix: "dm:"}, true},
		{"the whole key", dm, config.PolicyRule{KeyPrefix: "agent:ops:dm:7"}, true},
		{"more than the key", dm, config.PolicyRule{KeyPrefix: "agent:ops:dm:70"}, false},
		{"within the key", dm, config.PolicyRule{KeyPrefix: "ops:"}, false},
		{"keys have a case", dm, config.PolicyRule{KeyPrefix: "DM:"}, false},
		{"the key without a rest", abi.Session{Key: "global"}, config.PolicyRule{KeyPrefix: "glob"}, true},
		{"no rest", abi.Session{Key: "global"}, config.PolicyRule{KeyPrefix: "main"}, false},

		{"all members", group, config.PolicyRule{Channel: "discord", ChatType: "group", KeyPrefix: "discord:group:"}, true},
		{"all but the channel", group, config.PolicyRule{Channel: "slack", ChatType: "group", KeyPrefix: "discord:group:"}, false},
		{"all but the type", group, config.PolicyRule{Channel: "discord", ChatType: "channel", KeyPrefix: "discord:group:"}, false},
		{"all but the prefix", group, config.PolicyRule{Channel: "discord", ChatType: "group", KeyPrefix: "slack:"}, false},
	} {
		t.Run("S8.1 "+tt.name, func(t *testing.T) {
			if err := policy.Receive(settings("allow", deny(tt.rule)), &tt.session); (err != nil) != tt.want {
				t.Errorf("a rule that denies: %v", err)
			}
			if err := policy.Receive(settings("deny", allow(tt.rule)), &tt.session); (err == nil) != tt.want {
				t.Errorf("a rule that allows: %v", err)
			}
		})
	}
}

// For a delivery, the channel is the target's; type and key stay the session's.
func TestDeliver(t *testing.T) {
	s := abi.Session{Key: "agent:main:discord:group:1", AgentID: "main", LastChannel: "slack"}
	for _, tt := range []struct {
		channel string
		rule    config.PolicyRule
		want    bool
	}{
		{"telegram", config.PolicyRule{Channel: "telegram"}, true},
		{"Telegram", config.PolicyRule{Channel: "telegram"}, true},
		{"telegram", config.PolicyRule{Channel: "discord"}, false},
		{"telegram", config.PolicyRule{Channel: "slack"}, false},
		{"telegram", config.PolicyRule{ChatType: "group"}, true},
		{"telegram", config.PolicyRule{Channel: "telegram", KeyPrefix: "discord:"}, true},
		{"telegram", config.PolicyRule{Channel: "telegram", KeyPrefix: "telegram:"}, false},
	} {
		err := policy.Deliver(settings("allow", deny(tt.rule)), &s, abi.Target{Channel: tt.channel, To: "1"})
		if (err != nil) != tt.want {
			t.Errorf("S8.3 to %s with %+v: %v", tt.channel, tt.rule, err)
		}
	}
}

func TestTexts(t *testing.T) {
	everything := config.PolicyRule{}
	narrow := config.PolicyRule{Channel: "discord", ChatType: "group", KeyPrefix: "discord:"}
	group := &abi.Session{Key: "agent:ops:discord:group:1", AgentID: "ops"}
	main := &abi.Session{Key: "agent:ops:main", AgentID: "ops", SendPolicy: "deny"}
	global := settings("deny")
	global.Session.Scope = config.ScopeGlobal
	for _, tt := range []struct {
		err  error
		want string
	}{
		{policy.Receive(settings("allow", allow(everything), deny(narrow)), group),
			`the session takes no messages: session.sendPolicy rule 2 denies channel "discord", chatType "group", keyPrefix "discord:"`},
		{policy.Receive(settings("allow", deny(everything)), group),
			`the session takes no messages: session.sendPolicy rule 1 denies every session`},
		{policy.Receive(settings("allow"), main), `the session takes no messages: the session's own sendPolicy is "deny"`},
		{policy.Receive(global, &abi.Session{Key: "global", AgentID: "ops"}), `the session takes no messages: session.sendPolicy.default is "deny"`},
		{policy.Deliver(settings("deny"), group, abi.Target{Channel: "telegram", To: "5"}),
			`nothing is delivered to channel "telegram" for session "agent:ops:discord:group:1": session.sendPolicy.default is "deny"`},
	} {
		if !errors.Is(tt.err, abi.Forbidden) || tt.err.Error() != tt.want {
			t.Errorf("refused with %v\nwant %s", tt.err, tt.want)
		}
	}
}

// An override that is neither word is none.
func TestUnknownOverride(t *testing.T) {
	s := &abi.Session{Key: "agent:main:main", SendPolicy: "inherit"}
	if err := policy.Receive(settings("deny"), s); err == nil {
		t.Error("an unknown override allows")
	}
	if err := policy.Receive(settings("allow"), s); err != nil {
		t.Errorf("an unknown override denies: %v", err)
	}
}
