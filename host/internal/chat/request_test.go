package chat_test

import (
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/chat"
)

func TestKeys(t *testing.T) {
	const agents = `agents: {list: [{id: "ops"}, {id: "main", default: true}]}`
	for _, tt := range []struct{ settings, text, key, agent string }{
		{`{}`, "main", "agent:main:main", "main"},
		{`{}`, "discord:group:1", "agent:main:discord:group:1", "main"},
		{`{}`, "agent:Other:dm:1", "agent:other:dm:1", "other"},
		{`{` + agents + `}`, "main", "agent:main:main", "main"},
		{`{` + agents + `}`, "agent:ops:main", "agent:ops:main", "ops"},
		{`{session: {mainKey: "home"}}`, "agent:main:main", "agent:main:home", "main"},
		{`{session: {scope: "global"}, ` + agents + `}`, "main", "global", "main"},
		{`{session: {scope: "global"}, ` + agents + `}`, "agent:ops:main", "global", "main"},
		{`{session: {scope: "global"}, ` + agents + `}`, "agent:ops:dm:1", "agent:ops:dm:1", "ops"},
	} {
		f := newFixture(t, tt.settings)
		f.mustSend(&chat.Message{SessionKey: tt.text, Text: "x"})
		s, r := f.session(tt.key), f.runs()[0]
		if s == nil || s.AgentID != tt.agent || r.SessionKey != tt.key || r.AgentID != tt.agent {
			t.Errorf("S1 %s with %s: session %+v, run %+v", tt.text, tt.settings, s, r)
		}
	}
}

func TestInvalidMessages(t *testing.T) {
	const settings = `{agents: {list: [{id: "main"}, {id: "ops"}]}}`
	long := strings.Repeat("x", abi.MaxText+1)
	f := newFixture(t, settings)
	for _, tt := range []struct {
		name string
		m    chat.Message
		text string
	}{
		{"no key", chat.Message{Text: "x"}, "sessionKey is missing"},
		{"current", chat.Message{SessionKey: "current", Text: "x"}, `sessionKey "current" is a reserved word`},
		{"global", chat.Message{SessionKey: "global", Text: "x"}, `sessionKey "global" is a reserved word`},
		{"unknown", chat.Message{SessionKey: "agent:main:unknown", Text: "x"}, "reserved word"},
		{"bad agent", chat.Message{SessionKey: "agent:a b:main", Text: "x"}, "invalid agent id"},
		{"control characters", chat.Message{SessionKey: "a\nb", Text: "x"}, "control characters"},
		{"an agent that is not configured", chat.Message{SessionKey: "agent:x:main", Text: "x"}, `agent "x" is not configured; configured: main, ops`},
		{"blank", chat.Message{SessionKey: "main", Text: " \n\t"}, "the message is blank"},
		{"long", chat.Message{SessionKey: "main", Text: long}, "1048577 bytes long; at most 1048576"},
		{"a blank sender", chat.Message{SessionKey: "main", Text: "x", From: " "}, "from is blank"},
		{"a long sender", chat.Message{SessionKey: "main", Text: "x", From: strings.Repeat("1", 600)}, "from is longer"},
		{"an address without a channel", chat.Message{SessionKey: "main", Text: "x", Target: abi.Target{To: "1"}}, "channel is missing"},
		{"a bad address", chat.Message{SessionKey: "main", Text: "x", Target: abi.Target{Channel: "a", To: "1\n2"}}, "to contains control"},
		{"a long request id", chat.Message{SessionKey: "main", Text: "x", RequestID: strings.Repeat("1", 600)}, "the request id is longer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f.t = t
			a, err := f.Send(t.Context(), &tt.m)
			f.expectError(err, abi.InvalidArgs, tt.text)
			if a != nil || len(f.runs()) != 0 || f.session("agent:main:main") != nil {
				t.Errorf("accepted %+v", a)
			}
			if tt.m.From == "" && tt.m.Target.IsZero() {
				_, err = f.StartAgent(t.Context(), &chat.AgentRequest{SessionKey: tt.m.SessionKey, Message: tt.m.Text, RequestID: tt.m.RequestID})
				f.expectError(err, abi.InvalidArgs, tt.text)
			}
		})
	}
}

func TestLongestMessage(t *testing.T) {
	f := newFixture(t, `{}`)
	f.mustSend(&chat.Message{SessionKey: "main", Text: strings.Repeat("x", abi.MaxText)})
	if got := len(f.runs()[0].Message); got != abi.MaxText {
		t.Errorf("stored %d bytes, want %d", got, abi.MaxText)
	}
}
