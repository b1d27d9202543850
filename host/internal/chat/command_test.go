package chat_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/chat"
)

func TestIsOwner(t *testing.T) {
	c := parse(t, `{session: {owners: ["Telegram:123", "slack:U1:x"]}}`)
	for _, tt := range []struct {
		channel, from string
		want          bool
	}{
		{"telegram", "123", true},
		{"TELEGRAM", "123", true},
		{"slack", "U1:x", true},
		{"slack", "u1:x", false},
		{"telegram", "1234", false},
		{"telegram", "", false},
		{"discord", "123", false},
		{"", "123", false},
		{"", "telegram:123", false},
	} {
		if got := chat.IsOwner(c, tt.channel, tt.from); got != tt.want {
			t.Errorf("S8.2 IsOwner(%q, %q) = %v", tt.channel, tt.from, got)
		}
	}
}

func TestCommands(t *testing.T) {
	const settings = `{session: {owners: ["telegram:123"], sendPolicy: {default: "deny"}}}`
	owner := abi.Target{Channel: "telegram", To: "5"}
	f := newFixture(t, settings)
	for _, tt := range []struct {
		name   string
		m      chat.Message
		before string
		want   string // the override after the message
		text   bool   // the message is ordinary text
	}{
		{"on", chat.Message{Text: "/send on"}, "", "allow", false},
		{"off", chat.Message{Text: "/send off"}, "", "deny", false},
		{"inherit", chat.Message{Text: "/send inherit"}, "deny", "", false},
		{"in upper case, with blanks around", chat.Message{Text: "\n /SEND On "}, "deny", "allow", false},
		{"by an owner", chat.Message{Text: "/send on", From: "123", Target: owner}, "deny", "allow", false},
		{"by an owner, from a channel in upper case", chat.Message{Text: "/send on", From: "123", Target: abi.Target{Channel: "TELEGRAM"}}, "deny", "allow", false},

		{"by an unknown sender on a channel", chat.Message{Text: "/send on", Target: owner}, "deny", "deny", true},
		{"by a sender who is not an owner", chat.Message{Text: "/send on", From: "124", Target: owner}, "deny", "deny", true},
		{"by an owner of another channel", chat.Message{Text: "/send on", From: "123", Target: abi.Target{Channel: "signal", To: "5"}}, "deny", "deny", true},
		{"by an owner without a channel", chat.Message{Text: "/send on", From: "123"}, "deny", "deny", true},
		{"with text after it", chat.Message{Text: "/send on please"}, "deny", "deny", true},
		{"with text before it", chat.Message{Text: "do /send on"}, "deny", "deny", true},
		{"of an unknown word", chat.Message{Text: "/send maybe"}, "deny", "deny", true},
		{"without a word", chat.Message{Text: "/send"}, "deny", "deny", true},
	} {
		t.Run("S8.2 "+tt.name, func(t *testing.T) {
			f.t = t
			before := &abi.Session{Key: "agent:main:main", AgentID: "main", Kind: "other", SessionID: "s", UpdatedAt: 5, SendPolicy: tt.before}
			f.put(before)
			m := tt.m
			m.SessionKey = "main"
			a, err := f.Send(t.Context(), &m)
			if tt.text {
				f.expectError(err, abi.Forbidden, `sendPolicy is "deny"`)
			} else if err != nil || a.Status != "ok" || a.RunID != "" || a.Reply == "" {
				t.Errorf("answered %+v, %v", a, err)
			}
			before.SendPolicy = tt.want // the only change
			if d := cmp.Diff(before, f.session("agent:main:main")); d != "" {
				t.Error(d)
			}
			if len(f.runs()) != 0 {
				t.Error("a run was started")
			}
		})
	}
}

// An owner's commands override the send policy in both directions, also for a session
// that does not exist yet.
func TestCommandOverridesPolicy(t *testing.T) {
	f := newFixture(t, `{session: {sendPolicy: {default: "deny"}}}`)
	send := func(text string) error {
		_, err := f.Send(t.Context(), &chat.Message{SessionKey: "agent:main:dm:1", Text: text})
		return err
	}
	f.expectError(send("x"), abi.Forbidden, "session.sendPolicy.default")
	for _, text := range []string{"/send on", "x"} {
		if err := send(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	if err := send("/send off"); err != nil {
		t.Fatal(err)
	}
	f.expectError(send("x"), abi.Forbidden, "the session's own sendPolicy")
	if err := send("/send inherit"); err != nil {
		t.Fatal(err)
	}
	f.expectError(send("x"), abi.Forbidden, "session.sendPolicy.default")
	if n := len(f.runs()); n != 1 {
		t.Errorf("%d runs were started, want 1", n)
	}
}

// S4.4: a command that is repeated with the same id changes nothing.
func TestRepeatedCommand(t *testing.T) {
	f := newFixture(t, `{}`)
	send := func(id, text, want string) {
		t.Helper()
		a, err := f.Send(t.Context(), &chat.Message{SessionKey: "main", Text: text, RequestID: id})
		if err != nil || a.Status != chat.StatusOK || a.RunID != "" || a.Reply == "" {
			t.Fatalf("%s %s: %+v, %v", id, text, a, err)
		}
		if got := f.session("agent:main:main").SendPolicy; got != want {
			t.Fatalf("%s %s: the override is %q, want %q", id, text, got, want)
		}
	}
	send("1", "/send off", "deny")
	send("2", "/send on", "allow")
	send("1", "/send off", "allow")
	_, err := f.Send(t.Context(), &chat.Message{SessionKey: "main", Text: "/send inherit", RequestID: "2"})
	f.expectError(err, abi.InvalidArgs, "belongs to another request")
	for _, r := range f.runs() {
		if r.Status != abi.RunDone || r.Group != "" || r.EndedAt == 0 {
			t.Errorf("recorded %+v", r)
		}
	}
}

// S9: a message's origin becomes the destination of the session's replies.
func TestTarget(t *testing.T) {
	known := abi.Target{Channel: "telegram", To: "1", AccountID: "bot", ThreadID: "9"}
	for _, tt := range []struct {
		name string
		from abi.Target
		want abi.Target
	}{
		{"nowhere", abi.Target{}, known},
		{"another chat of the channel", abi.Target{Channel: "telegram", To: "2"}, abi.Target{Channel: "telegram", To: "2"}},
		{"the same chat without its thread", abi.Target{Channel: "telegram", To: "1"}, abi.Target{Channel: "telegram", To: "1"}},
		{"another channel", abi.Target{Channel: "signal", To: "2", ThreadID: "3"}, abi.Target{Channel: "signal", To: "2", ThreadID: "3"}},
		{"the channel alone", abi.Target{Channel: "telegram"}, known},
		{"another thread of the chat", abi.Target{Channel: "telegram", ThreadID: "10"}, abi.Target{Channel: "telegram", To: "1", AccountID: "bot", ThreadID: "10"}},
		{"by another account", abi.Target{Channel: "telegram", AccountID: "two"}, abi.Target{Channel: "telegram", To: "1", AccountID: "two", ThreadID: "9"}},
		{"another channel alone", abi.Target{Channel: "signal"}, abi.Target{Channel: "signal"}},
		{"internal", abi.Target{Channel: "internal", To: "x"}, known},
		{"unknown", abi.Target{Channel: "Unknown"}, known},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t, `{}`)
			f.mustSend(&chat.Message{SessionKey: "main", Text: "x", Target: known})
			f.mustSend(&chat.Message{SessionKey: "main", Text: "y", Target: tt.from})
			s := f.session("agent:main:main")
			last := abi.Target{Channel: s.LastChannel, To: s.LastTo, AccountID: s.LastAccountID, ThreadID: s.LastThreadID}
			if s.DeliveryContext != tt.want || last != tt.want || s.ChatType != "" {
				t.Errorf("context %+v, last %+v, want %+v; chat type %q", s.DeliveryContext, last, tt.want, s.ChatType)
			}
		})
	}
}
