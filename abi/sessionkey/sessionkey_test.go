package sessionkey

import (
	"errors"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi"
)

var (
	plain  = Settings{}
	home   = Settings{MainKey: "home", DefaultAgent: "ops"}
	global = Settings{GlobalScope: true}
)

func TestCanonical(t *testing.T) {
	long := strings.Repeat("x", 500)
	tests := []struct {
		name     string
		settings Settings
		text     string
		agent    string
		want     string // "": abi.InvalidArgs
	}{
		{"S1.2 main of the caller's agent", plain, "main", "ops", "agent:ops:main"},
		{"S1.2 main with another mainKey", home, "main", "ops", "agent:ops:home"},
		{"S1.2 agent:<id>:main is an alias", home, "agent:dev:main", "ops", "agent:dev:home"},
		{"S1.2 the main key itself", home, "home", "dev", "agent:dev:home"},
		{"S1.3 main under the global scope", global, "main", "ops", "global"},
		{"S1.3 agent:<id>:main under the global scope", global, "agent:ops:main", "main", "global"},
		{"S1.3 global is not addressable", global, "global", "main", ""},
		{"S1.3 global is not addressable by agent", plain, "agent:main:global", "main", ""},
		{"S1.3 unknown is not addressable", plain, "unknown", "main", ""},
		{"S1.3 unknown by agent", plain, "agent:main:unknown", "main", ""},
		{"current is not a key", plain, "current", "main", ""},
		{"S1.1 canonical", plain, "agent:ops:cron:daily", "main", "agent:ops:cron:daily"},
		{"S1.1 bare cron", plain, "cron:daily", "ops", "agent:ops:cron:daily"},
		{"S1.1 bare hook", plain, "hook:1", "ops", "agent:ops:hook:1"},
		{"S1.1 bare node", plain, "node-1", "ops", "agent:ops:node-1"},
		{"S1.1 bare child", plain, "subagent:1", "ops", "agent:ops:subagent:1"},
		{"S1.1 bare group", plain, "discord:group:1", "ops", "agent:ops:discord:group:1"},
		{"S1.1 anything else", plain, "telegram:dm:7", "ops", "agent:ops:telegram:dm:7"},
		{"S1.4 lower-cased", plain, "agent:OPS:Cron", "main", "agent:ops:Cron"},
		{"S1.4 spaces are not replaced", plain, "agent:o ps:x", "main", ""},
		{"S1.4 dots", plain, "agent:..:x", "main", ""},
		{"S1.4 Kelvin sign is not k", plain, "agent:\u212Aim:x", "main", ""},
		{"S1.4 too long", plain, "agent:" + strings.Repeat("a", 65) + ":x", "main", ""},
		{"S1.4 no agent means the default agent", home, "cron:x", "", "agent:ops:cron:x"},
		{"S1.4 main of the default agent", home, "main", "", "agent:ops:home"},
		{"no rest", plain, "agent:ops:", "main", ""},
		{"no second colon", plain, "agent:ops", "main", ""},
		{"empty agent", plain, "agent::x", "main", ""},
		{"empty", plain, "", "main", ""},
		{"too long", plain, strings.Repeat("x", 513), "main", ""},
		{"longest", plain, long, "m", "agent:m:" + long},
		{"too long as a full key", plain, long + "123456", "m", ""},
		{"newline", plain, "a\nb", "main", ""},
		{"delete", plain, "a\x7fb", "main", ""},
		{"line separator", plain, "a\u2028b", "main", ""},
		{"not UTF-8", plain, "a\xffb", "main", ""},
		{"letters of any script", plain, "Gespräch", "main", "agent:main:Gespräch"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.settings.Canonical(tt.text, tt.agent)
			if got != tt.want || (tt.want == "") != errors.Is(err, abi.InvalidArgs) {
				t.Errorf("Canonical(%q, %q) = %q, %v; want %q", tt.text, tt.agent, got, err, tt.want)
			}
		})
	}
}

func TestDisplay(t *testing.T) {
	tests := []struct {
		name     string
		settings Settings
		key      string
		agent    string
		want     string
	}{
		{"S1.2 own main", plain, "agent:ops:main", "ops", "main"},
		{"S1.2 own main with another mainKey", home, "agent:ops:home", "ops", "main"},
		{"S1.2 other agent's main", plain, "agent:ops:main", "main", "agent:ops:main"},
		{"S1.2 any other key", plain, "agent:ops:cron:x", "ops", "agent:ops:cron:x"},
		{"default agent's main", home, "agent:ops:home", "", "main"},
		{"S1.3 global", global, "global", "ops", "main"},
		{"S1.3 alias of global", global, "agent:dev:main", "ops", "main"},
		{"global without the global scope", plain, "global", "ops", "global"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.settings.Display(tt.key, tt.agent); got != tt.want {
				t.Errorf("Display(%q, %q) = %q; want %q", tt.key, tt.agent, got, tt.want)
			}
		})
	}
}

func TestKindOf(t *testing.T) {
	tests := []struct {
		settings Settings
		key      string
		want     string
	}{
		{plain, "agent:ops:main", KindMain},
		{home, "agent:ops:home", KindMain},
		{home, "agent:ops:main", KindOther},
		{global, "global", KindMain},
		{plain, "global", KindOther},
		{plain, "agent:a:discord:group:1", KindGroup},
		{plain, "agent:a:slack:channel:C1:thread:2", KindGroup},
		{plain, "agent:a:discord:work:group:1", KindGroup},
		{plain, "agent:a:group:1", KindGroup},
		{plain, "agent:group:x", KindOther},
		{plain, "agent:a:discord:group:", KindOther},
		{plain, "agent:a:cron:group:1", KindCron},
		{plain, "agent:a:hook:1", KindHook},
		{plain, "agent:a:node-1", KindNode},
		{plain, "agent:a:subagent:discord:group:1", KindOther},
		{plain, "agent:a:telegram:dm:1", KindOther},
		{plain, "agent:a:cronjob", KindOther},
		{Settings{MainKey: "cron:x"}, "agent:a:cron:x", KindMain},
	}
	for _, tt := range tests {
		if got := tt.settings.KindOf(tt.key); got != tt.want {
			t.Errorf("S1.6 KindOf(%q) = %q; want %q", tt.key, got, tt.want)
		}
	}
}

func TestHidden(t *testing.T) {
	tests := []struct {
		settings Settings
		key      string
		want     bool
	}{
		{plain, "global", true},
		{global, "global", false},
		{plain, "unknown", true},
		{plain, "agent:a:unknown", true},
		{plain, "agent:a:global", true},
		{plain, "agent:a:main", false},
		{global, "agent:a:main", true},
		{global, "agent:a:cron:x", false},
	}
	for _, tt := range tests {
		if got := tt.settings.Hidden(tt.key); got != tt.want {
			t.Errorf("S1.3 %+v.Hidden(%q) = %v; want %v", tt.settings, tt.key, got, tt.want)
		}
	}
}

func TestParseGroup(t *testing.T) {
	tests := []struct {
		key  string
		want Group
		ok   bool
	}{
		{"agent:a:discord:group:1", Group{"discord", "group", "1", ""}, true},
		{"agent:a:slack:channel:C1:thread:17.5", Group{"slack", "channel", "C1", "17.5"}, true},
		{"agent:a:telegram:group:-100:topic:5", Group{"telegram", "group", "-100", "5"}, true},
		{"agent:a:telegram:group:-100:topic:", Group{"telegram", "group", "-100:topic:", ""}, true},
		{"agent:a:discord:work:group:9", Group{"discord", "group", "9", ""}, true},
		{"agent:a:group:9", Group{"", "group", "9", ""}, true},
		{"agent:a:discord:group:", Group{}, false},
		{"agent:a:dm:1", Group{}, false},
		{"global", Group{}, false},
	}
	for _, tt := range tests {
		if got, ok := ParseGroup(tt.key); got != tt.want || ok != tt.ok {
			t.Errorf("S1.1 ParseGroup(%q) = %+v, %v; want %+v, %v", tt.key, got, ok, tt.want, tt.ok)
		}
	}
}

func TestHasKeyForm(t *testing.T) {
	for text, want := range map[string]bool{
		"main": true, "current": true, "agent:x": true, "cron:1": true, "hook:1": true, "node-1": true,
		"subagent:1": true, "discord:group:1": true, "slack:channel:1": true,
		"mainly": false, "cron": false, "550e8400-e29b-41d4-a716-446655440000": false, "group:1": false,
	} {
		if got := HasKeyForm(text); got != want {
			t.Errorf("S1.5 HasKeyForm(%q) = %v; want %v", text, got, want)
		}
	}
}

// FuzzCanonical checks that Canonical returns its own result unchanged for another caller,
// and that the key does not exceed its bounds.
func FuzzCanonical(f *testing.F) {
	for _, s := range []string{"main", "agent:A:main", "cron:x", "agent:a:b:c", "discord:group:1:topic:2", "agent:", "home", "global"} {
		f.Add(s, "ops", "home", false)
		f.Add(s, "", "", true)
	}
	f.Fuzz(func(t *testing.T, text, agent, mainKey string, scope bool) {
		if agent != "" {
			var err error
			if agent, err = AgentID(agent); err != nil {
				return
			}
		}
		if mainKey != "" && Check(mainKey) != nil || len(mainKey) > 64 {
			return
		}
		s := Settings{MainKey: mainKey, GlobalScope: scope}
		key, err := s.Canonical(text, agent)
		if err != nil {
			if !errors.Is(err, abi.InvalidArgs) {
				t.Fatalf("Canonical(%q): %v is not invalid_args", text, err)
			}
			return
		}
		s.KindOf(key)
		ParseGroup(key)
		if key == Global {
			if !scope {
				t.Fatalf("Canonical(%q) = global without the global scope", text)
			}
			return
		}
		if len(key) > abi.MaxSessionKey+len(mainKey)+71 {
			t.Fatalf("Canonical(%q) is %d bytes long", text, len(key))
		}
		if _, _, ok := Split(key); !ok {
			t.Fatalf("Canonical(%q) = %q is not canonical", text, key)
		}
		if again, err := s.Canonical(key, "other"); err != nil || again != key {
			t.Fatalf("Canonical(%q) = %q, but Canonical of that = %q, %v", text, key, again, err)
		}
	})
}
