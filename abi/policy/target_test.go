package policy_test

import (
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/policy"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

const (
	direct = "agent:main:main"
	group  = "agent:main:telegram:group:-100"
)

func last(channel, to, account, thread string) abi.Session {
	return abi.Session{LastChannel: channel, LastTo: to, LastAccountID: account, LastThreadID: thread}
}

func context(t abi.Target, s abi.Session) abi.Session {
	s.DeliveryContext = t
	return s
}

func TestTarget(t *testing.T) {
	for _, test := range []struct {
		name string
		key  string
		s    abi.Session
		want abi.Target // zero: none
	}{
		{"no source", direct, abi.Session{}, abi.Target{}},
		{"the stored channel is not a source", direct, abi.Session{Channel: "telegram"}, abi.Target{}},
		{"the delivery context comes first", direct,
			context(abi.Target{Channel: "slack", To: "C1", AccountID: "a", ThreadID: "9"}, last("telegram", "7", "b", "8")),
			abi.Target{Channel: "slack", To: "C1", AccountID: "a", ThreadID: "9"}},
		{"nothing is added from another channel", direct,
			context(abi.Target{Channel: "slack", To: "C1"}, last("telegram", "7", "b", "8")),
			abi.Target{Channel: "slack", To: "C1"}},
		{"account and thread are added from the same channel", direct,
			context(abi.Target{Channel: "slack", To: "C1"}, last("slack", "C2", "b", "8")),
			abi.Target{Channel: "slack", To: "C1", AccountID: "b", ThreadID: "8"}},
		{"account alone is added", direct,
			context(abi.Target{Channel: "slack", To: "C1", ThreadID: "9"}, last("Slack", "C2", "b", "8")),
			abi.Target{Channel: "slack", To: "C1", AccountID: "b", ThreadID: "9"}},
		{"a context without a recipient", direct,
			context(abi.Target{Channel: "slack"}, last("slack", "C2", "", "")),
			abi.Target{Channel: "slack", To: "C2"}},
		{"a context without a recipient still adds its account", direct,
			context(abi.Target{Channel: "slack", AccountID: "a"}, last("slack", "C2", "", "8")),
			abi.Target{Channel: "slack", To: "C2", AccountID: "a", ThreadID: "8"}},
		{"a context adds nothing to a destination on another channel", direct,
			context(abi.Target{Channel: "slack", AccountID: "a"}, last("telegram", "7", "", "")),
			abi.Target{Channel: "telegram", To: "7"}},
		{"a context without a channel adds nothing", direct,
			context(abi.Target{To: "C1", AccountID: "a"}, last("telegram", "7", "", "")),
			abi.Target{Channel: "telegram", To: "7"}},
		{"a recipient without a channel", direct, last("", "7", "b", ""), abi.Target{}},
		{"a channel without a recipient", direct, last("telegram", "", "b", ""), abi.Target{}},
		{"channel and recipient of two sources", direct,
			context(abi.Target{Channel: "telegram"}, last("", "7", "", "")), abi.Target{}},
		{"internal is not a chat", direct,
			context(abi.Target{Channel: "internal", To: "x"}, last("telegram", "7", "", "")),
			abi.Target{Channel: "telegram", To: "7"}},
		{"unknown is not a chat", direct, last("unknown", "x", "", ""), abi.Target{}},
		{"internal and unknown in any case", direct,
			context(abi.Target{Channel: "Internal", To: "x"}, last("UNKNOWN", "x", "", "")), abi.Target{}},
		{"a cron job with a context", "agent:main:cron:daily",
			context(abi.Target{Channel: "telegram", To: "7"}, abi.Session{}), abi.Target{Channel: "telegram", To: "7"}},
		{"the one session of the global scope", sessionkey.Global, last("telegram", "7", "", ""), abi.Target{Channel: "telegram", To: "7"}},

		{"a group's key", group, abi.Session{}, abi.Target{Channel: "telegram", To: "-100"}},
		{"a channel's key", "agent:main:slack:channel:C1", abi.Session{}, abi.Target{Channel: "slack", To: "C1"}},
		{"a thread in the key", "agent:main:slack:channel:C1:thread:17.2", abi.Session{},
			abi.Target{Channel: "slack", To: "C1", ThreadID: "17.2"}},
		{"a topic in the key", group + ":topic:4", abi.Session{}, abi.Target{Channel: "telegram", To: "-100", ThreadID: "4"}},
		{"an account for the key", group, last("telegram", "", "b", ""),
			abi.Target{Channel: "telegram", To: "-100", AccountID: "b"}},
		{"sources of the group's channel precede the key", group,
			context(abi.Target{Channel: "telegram", To: "-200"}, last("telegram", "-300", "", "")),
			abi.Target{Channel: "telegram", To: "-200"}},
		{"a source without a thread takes the key's", group + ":topic:4", last("TELEGRAM", "-100", "b", ""),
			abi.Target{Channel: "TELEGRAM", To: "-100", AccountID: "b", ThreadID: "4"}},
		{"a source with a thread keeps it", group + ":topic:4", last("telegram", "-100", "", "5"),
			abi.Target{Channel: "telegram", To: "-100", ThreadID: "5"}},
		{"a context of another channel is ignored", group,
			context(abi.Target{Channel: "slack", To: "C1", AccountID: "a", ThreadID: "9"}, last("telegram", "-300", "", "")),
			abi.Target{Channel: "telegram", To: "-300"}},
		{"last fields of another channel are ignored", group, last("webchat", "x", "b", "5"), abi.Target{Channel: "telegram", To: "-100"}},
		{"the key's channel overrides the stored one", group,
			context(abi.Target{Channel: "slack", To: "C1"}, abi.Session{Channel: "slack"}),
			abi.Target{Channel: "telegram", To: "-100"}},
		{"a key without a channel is not a source", "agent:main:group:-100", abi.Session{Channel: "telegram"}, abi.Target{}},
		{"a key without a channel excludes no source", "agent:main:group:-100", last("telegram", "-100", "", ""),
			abi.Target{Channel: "telegram", To: "-100"}},
		{"a group on the internal channel", "agent:main:internal:group:x", abi.Session{}, abi.Target{}},
		{"a group on the internal channel with last fields", "agent:main:internal:group:x", last("telegram", "7", "", ""), abi.Target{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := test.s
			s.Key = test.key
			before := s
			got, ok := policy.Target(&s)
			if got != test.want || ok != !test.want.IsZero() {
				t.Errorf("%+v, %v; want %+v", got, ok, test.want)
			}
			if s != before {
				t.Errorf("Target changed the session to %+v", s)
			}
		})
	}
}

func TestChannel(t *testing.T) {
	for _, test := range []struct {
		name, key, kind string
		s               abi.Session
		want            string
	}{
		{"cron", "agent:main:cron:daily", sessionkey.KindCron, last("telegram", "7", "", ""), policy.ChannelInternal},
		{"hook", "agent:main:hook:1", sessionkey.KindHook, abi.Session{}, policy.ChannelInternal},
		{"node", "agent:main:node-1", sessionkey.KindNode, abi.Session{}, policy.ChannelInternal},
		{"group, stored", group, sessionkey.KindGroup, abi.Session{Channel: "signal", LastChannel: "slack"}, "signal"},
		{"group, from its key", group, sessionkey.KindGroup, last("slack", "C1", "", ""), "telegram"},
		{"group without a channel", "agent:main:group:1", sessionkey.KindGroup, last("slack", "C1", "", ""), policy.ChannelUnknown},
		{"direct, from its delivery context", direct, sessionkey.KindMain, context(abi.Target{Channel: "slack"}, last("telegram", "7", "", "")), "slack"},
		{"direct, from its last channel", direct, sessionkey.KindMain, last("telegram", "", "", ""), "telegram"},
		{"direct without a channel", direct, sessionkey.KindOther, abi.Session{Channel: "telegram"}, policy.ChannelUnknown},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := test.s
			s.Key = test.key
			if got := policy.Channel(&s, test.kind); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func TestDeliveryContext(t *testing.T) {
	for _, test := range []struct {
		name string
		s    abi.Session
		want abi.Target
	}{
		{"nothing", abi.Session{}, abi.Target{}},
		{"last fields alone", last("telegram", "7", "b", "8"), abi.Target{Channel: "telegram", To: "7", AccountID: "b", ThreadID: "8"}},
		{"last fields replace absent members", context(abi.Target{Channel: "telegram", To: "1"}, last("telegram", "7", "b", "8")),
			abi.Target{Channel: "telegram", To: "1", AccountID: "b", ThreadID: "8"}},
		{"last fields of another channel are ignored", context(abi.Target{Channel: "slack"}, last("telegram", "7", "b", "8")), abi.Target{Channel: "slack"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := policy.DeliveryContext(&test.s); got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}
