package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host"
	"github.com/parley-wasm/parley/host/internal/terminal"
)

func noEnv(string) string { return "" }

func TestReport(t *testing.T) {
	cases := map[string]struct {
		err  error
		code int
		text string
	}{
		"none":    {nil, 0, ""},
		"failure": {errors.New("x.db: is damaged: restore it"), 1, "parley: call: x.db: is damaged: restore it\n"},
		"usage":   {usage(errors.New("no")), 2, "parley: call: no\n"},
		"silent":  {errSilent, 1, ""},
		"escape":  {errors.New("key \x1b[2J"), 1, "parley: call: key ␛[2J\n"},
		"several": {errors.Join(errors.New("a"), errors.New("b")), 1, "parley: call: a\n  b\n"},
		"signal":  {context.Canceled, 1, "parley: call: interrupted\n"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			if code := report(terminal.New(&b, noEnv), "call", c.err); code != c.code || b.String() != c.text {
				t.Errorf("code %d, text %q; want %d, %q", code, b.String(), c.code, c.text)
			}
		})
	}
}

// TestInvalidUTF8 is not a script, because scripts must be UTF-8.
func TestInvalidUTF8(t *testing.T) {
	for _, args := range [][]string{
		{"call", "sessions_list", "{\"search\": \"\xff\"}"},
		{"sessions", "--db", "x\xff.db"},
	} {
		var out, stderr strings.Builder
		code := run(t.Context(), args, strings.NewReader(""), &out, &stderr, noEnv)
		if code != exitUsage || out.Len() > 0 || !strings.Contains(stderr.String(), "parley: argument 3, ") || !strings.Contains(stderr.String(), "not valid UTF-8") {
			t.Errorf("%q: code %d, %q, %q", args, code, &out, &stderr)
		}
	}
}

func TestArgumentsLimit(t *testing.T) {
	fits := `{"search":"` + strings.Repeat("x", host.MaxArgs-13) + `"}`
	if got, err := arguments("-", strings.NewReader(fits)); err != nil || string(got) != fits {
		t.Errorf("%d bytes: %v", len(fits), err)
	}
	for _, tooLong := range []string{fits + "x", fits + strings.Repeat(" ", 1000) + "x"} {
		if _, err := arguments("-", strings.NewReader(tooLong)); err == nil || report(terminal.New(&strings.Builder{}, noEnv), "", err) != exitUsage {
			t.Errorf("%d bytes: %v", len(tooLong), err)
		}
	}
}

func TestCaller(t *testing.T) {
	keys := sessionkey.Settings{MainKey: "home", DefaultAgent: "ops"}
	global := sessionkey.Settings{GlobalScope: true, DefaultAgent: "ops"}
	cases := map[string]struct {
		flags callerFlags
		keys  sessionkey.Settings
		want  abi.Caller
	}{
		"operator":      {callerFlags{}, keys, abi.Caller{Operator: true}},
		"main":          {callerFlags{asFlags: asFlags{As: " main "}}, keys, abi.Caller{SessionKey: "agent:ops:home", AgentID: "ops"}},
		"bare":          {callerFlags{asFlags: asFlags{As: "cron:x"}}, keys, abi.Caller{SessionKey: "agent:ops:cron:x", AgentID: "ops"}},
		"agent":         {callerFlags{Agent: "Bob"}, keys, abi.Caller{SessionKey: "agent:bob:home", AgentID: "bob"}},
		"bare of agent": {callerFlags{asFlags: asFlags{As: "cron:x", Sandboxed: true}, Agent: "bob"}, keys, abi.Caller{SessionKey: "agent:bob:cron:x", AgentID: "bob", Sandboxed: true}},
		"canonical":     {callerFlags{asFlags: asFlags{As: "agent:bob:main"}}, keys, abi.Caller{SessionKey: "agent:bob:home", AgentID: "bob"}},
		"child":         {callerFlags{asFlags: asFlags{As: "agent:bob:subagent:1"}}, keys, abi.Caller{SessionKey: "agent:bob:subagent:1", AgentID: "bob", Depth: 1}},
		"global":        {callerFlags{Agent: "bob"}, global, abi.Caller{SessionKey: "global", AgentID: "bob"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := c.flags.caller(c.keys)
			if err != nil || got != c.want {
				t.Errorf("got %+v, %v; want %+v", got, err, c.want)
			}
		})
	}
}

func TestInvalidCaller(t *testing.T) {
	for name, f := range map[string]callerFlags{
		"newline": {asFlags: asFlags{As: "cron:a\nb"}}, "10 kB": {asFlags: asFlags{As: "cron:" + strings.Repeat("x", 10_000)}}, "dots": {asFlags: asFlags{As: "agent:../x:main"}},
		"invalid UTF-8": {asFlags: asFlags{As: "cron:\xff"}}, "reserved": {asFlags: asFlags{As: "unknown"}}, "current": {asFlags: asFlags{As: "current"}}, "bad agent": {Agent: "a b"},
		"two agents": {asFlags: asFlags{As: "agent:a:main"}, Agent: "b"}, "sandboxed operator": {asFlags: asFlags{Sandboxed: true}},
	} {
		var b strings.Builder
		_, err := f.caller(sessionkey.Settings{})
		if code := report(terminal.New(&b, noEnv), "call", err); code != exitUsage || strings.Count(b.String(), "\n") != 1 || len(b.String()) > 300 {
			t.Errorf("%s: code %d, text %q", name, code, b.String())
		}
	}
}

func TestListenAddress(t *testing.T) {
	for _, c := range []struct {
		text  string
		token bool // configured
		ok    bool
	}{
		{"127.0.0.1:0", false, true}, {"[::1]:80", false, true}, {"127.9.9.9:1", false, true},
		{"0.0.0.0:0", false, false}, {":80", false, false}, {"[::]:80", false, false}, {"192.0.2.1:80", false, false},
		{"0.0.0.0:0", true, true}, {"nonsense", true, false}, {"127.0.0.1:99999", true, false},
	} {
		if _, err := listenAddress(c.text, c.token); (err == nil) != c.ok {
			t.Errorf("%s, token configured %v: %v", c.text, c.token, err)
		}
	}
}

func TestMessage(t *testing.T) {
	cases := map[string]struct{ in, want string }{
		"text": {`{"role":"user","content":"a\nb\n","timestamp":1769904000000,"provenance":{"sourceSessionKey":"agent:a:main"}}`,
			"\nuser  " + time.UnixMilli(1769904000000).Format(time.DateTime) + "  from agent:a:main\n  a\n  b\n"},
		"blocks": {`{"role":"assistant","content":[{"type":"thinking","thinking":"hm\nwell"},{"type":"text","text":"hi"},{"type":"toolCall","name":"exec","arguments":{"c": "ls"}},{"type":"image","mimeType":"image/png","omitted":true,"bytes":1234},{"type":"new","x":1}]}`,
			"\nassistant\n  · hm\n  · well\n  hi\n  → exec {\"c\": \"ls\"}\n  [image image/png, 1.2 kB]\n  [new] {\"type\":\"new\",\"x\":1}\n"},
		"tool result": {`{"role":"toolResult","toolName":"exec","isError":true,"content":[{"type":"text","text":"no"}]}`, "\ntoolResult exec failed\n  no\n"},
		"wrong types": {`{"content":{"a":1},"role":7,"timestamp":"later"}`, "\n7\n  {\"a\":1}\n"},
		"empty":       {`{}`, "\nmessage\n  (no content)\n"},
		"control":     {`{"role":"us\u001ber","content":[{"type":"te\u0007","x":"\u001b"}]}`, "\nus␛er\n  [te␇] {\"type\":\"te\\u0007\",\"x\":\"\\u001b\"}\n"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			(&app{out: terminal.New(&b, noEnv)}).message(gjson.Parse(c.in))
			if b.String() != c.want {
				t.Errorf("got  %q\nwant %q", b.String(), c.want)
			}
		})
	}
}
