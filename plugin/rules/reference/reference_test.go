package reference

import (
	"errors"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/plugin/guest"
	"github.com/parley-wasm/parley/plugin/guest/guesttest"
	"github.com/parley-wasm/parley/plugin/rules/settings"
	"github.com/parley-wasm/parley/plugin/rules/visibility"
)

func find(t *testing.T, h guest.Host, config string, caller abi.Caller, text string) (string, error) {
	t.Helper()
	s, e := settings.Parse(config)
	if e != nil {
		t.Fatal(e)
	}
	row, err := Find(guest.NewClient(h), visibility.New(s, &caller), "sessionKey", text)
	if err != nil {
		return "", err
	}
	return row.Key, nil
}

func TestFind(t *testing.T) {
	const agentWide = `{"tools":{"sessions":{"visibility":"agent"}}}`
	const home = `{"session":{"mainKey":"home"},"tools":{"sessions":{"visibility":"agent"}}}`
	const global = `{"session":{"scope":"global"},"tools":{"sessions":{"visibility":"agent"}}}`
	self := abi.Caller{SessionKey: "agent:main:main", AgentID: "main"}
	dm := abi.Caller{SessionKey: "agent:main:telegram:dm:1", AgentID: "main"}
	operator := abi.Caller{Operator: true}
	store := &guesttest.Store{Sessions: []abi.Session{
		{Key: "agent:main:main", SessionID: "id-main"},
		{Key: "agent:main:home", SessionID: "id-home"},
		{Key: "agent:main:cron:daily", SessionID: "id-cron"},
		{Key: "agent:main:telegram:dm:1", SessionID: "id-dm"},
		{Key: "agent:main:notes", SessionID: "id-notes"},
		{Key: "agent:main:telegram:group:-1", SessionID: "id-group", ArchivedAt: 1},
		{Key: "agent:ops:main", SessionID: "id-ops"},
		{Key: "agent:ops:subagent:1", SessionID: "id-child", SpawnedBy: "agent:main:main"},
		{Key: "global", SessionID: "id-global"},
		{Key: "agent:main:unknown", SessionID: "id-unknown"},
		// A session whose id is the key of another session; the key has precedence.
		{Key: "agent:main:decoy", SessionID: "notes"},
	}}
	tests := []struct {
		name   string
		config string
		caller abi.Caller
		text   string
		want   string
		code   abi.Code
	}{
		{"S1.2 main", agentWide, dm, "main", "agent:main:main", ""},
		{"S1.2 main by another name", home, dm, "main", "agent:main:home", ""},
		{"S1.2 alias", home, dm, "agent:main:main", "agent:main:home", ""},
		{"S1.2 current", `{}`, dm, "current", "agent:main:telegram:dm:1", ""},
		{"S0.3 main for the operator", `{}`, operator, "main", "agent:main:main", ""},
		{"S0.3 current for the operator", `{}`, operator, "current", "", abi.InvalidArgs},
		{"S1.3 main is global", global, dm, "main", "global", ""},
		{"S1.3 alias of global", global, dm, "agent:ops:main", "global", ""},
		{"S1.3 global by name", global, dm, "global", "", abi.InvalidArgs},
		{"S1.3 unknown by name", agentWide, dm, "unknown", "", abi.InvalidArgs},
		{"S1.3 unknown by key", agentWide, dm, "agent:main:unknown", "", abi.InvalidArgs},
		{"S1.3 unknown by id", agentWide, dm, "id-unknown", "", abi.NotFound},
		{"S1.3 global by id, without the scope", `{}`, operator, "id-global", "", abi.NotFound},
		{"S1.3 global by id", global, dm, "id-global", "global", ""},
		{"S1.1 bare", agentWide, dm, "cron:daily", "agent:main:cron:daily", ""},
		{"S1.5 canonical", agentWide, dm, "agent:MAIN:cron:daily", "agent:main:cron:daily", ""},
		{"S1.5 known key", agentWide, dm, "notes", "agent:main:notes", ""},
		{"S1.5 sessionId", agentWide, dm, "id-cron", "agent:main:cron:daily", ""},
		{"S5.7 archived by key", agentWide, dm, "telegram:group:-1", "agent:main:telegram:group:-1", ""},
		{"S7.2 child of another agent by key", `{}`, self, "agent:ops:subagent:1", "agent:ops:subagent:1", ""},
		{"S7.2 child of another agent by id", `{}`, self, "id-child", "agent:ops:subagent:1", ""},
		{"S7.4 invisible key", `{}`, dm, "agent:main:cron:daily", "", abi.Forbidden},
		{"S7.4 absent invisible key", `{}`, dm, "agent:main:cron:none", "", abi.Forbidden},
		{"S7.4 absent visible key", agentWide, dm, "cron:none", "", abi.NotFound},
		{"S1.5 invisible sessionId", agentWide, dm, "id-ops", "", abi.NotFound},
		{"S1.5 absent sessionId", agentWide, dm, "id-none", "", abi.NotFound},
		{"S1.5 invisible known key", `{}`, dm, "notes", "", abi.NotFound},
		{"S1.4 invalid agent", `{}`, operator, "agent:o ps:x", "", abi.InvalidArgs},
		{"too long", `{}`, operator, strings.Repeat("x", 513), "", abi.InvalidArgs},
		{"too long for a key", `{}`, operator, strings.Repeat("x", 510), "", abi.NotFound},
		{"newline", `{}`, operator, "a\nb", "", abi.InvalidArgs},
		{"dots", `{}`, operator, "../../etc/passwd", "", abi.NotFound},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := find(t, store, tt.config, tt.caller, tt.text)
			if got != tt.want || tt.code == "" && err != nil || tt.code != "" && !errors.Is(err, tt.code) {
				t.Errorf("Find(%q) = %q, %v; want %q, %s", tt.text, got, err, tt.want, tt.code)
			}
		})
	}
}

// The error is the same for a session that the caller may not see and for one that does not
// exist.
func TestFindDisclosesNothing(t *testing.T) {
	caller := abi.Caller{SessionKey: "agent:main:main", AgentID: "main"}
	full := &guesttest.Store{Sessions: []abi.Session{
		{Key: "agent:main:main", SessionID: "id-main"},
		{Key: "agent:main:notes", SessionID: "other-id"},
		{Key: "agent:main:cron:x", SessionID: "notes"},
		{Key: "agent:ops:main", SessionID: "id-ops"},
	}}
	empty := &guesttest.Store{Sessions: full.Sessions[:1]}
	for _, config := range []string{`{}`, `{"tools":{"sessions":{"visibility":"self"}}}`} {
		for _, text := range []string{"notes", "cron:x", "agent:ops:main", "id-ops", "other-id"} {
			_, a := find(t, full, config, caller, text)
			_, b := find(t, empty, config, caller, text)
			if a == nil || b == nil || a.Error() != b.Error() {
				t.Errorf("S7.4 %q: stored %v; absent %v", text, a, b)
			}
		}
	}
}

func TestFindFault(t *testing.T) {
	refuse := guesttest.Exchange{Reply: `{"error":{"code":"limit","message":"slow down"}}`}
	for _, text := range []string{"main", "notes"} {
		_, err := find(t, guesttest.NewScript(t, refuse), `{}`, abi.Caller{Operator: true}, text)
		var f *guest.Fault
		if !errors.As(err, &f) || f.Err.Code != abi.Limit {
			t.Errorf("Find(%q): %v", text, err)
		}
	}
}

func TestLabelled(t *testing.T) {
	const agentWide = `{"tools":{"sessions":{"visibility":"agent"}}}`
	store := &guesttest.Store{Sessions: []abi.Session{
		{Key: "agent:main:one", Label: "one", UpdatedAt: 1},
		{Key: "agent:main:one-old", Label: "one", ArchivedAt: 1, UpdatedAt: 9},
		{Key: "agent:main:gone", Label: "gone", ArchivedAt: 1, UpdatedAt: 1},
		{Key: "agent:main:gone-newer", Label: "gone", ArchivedAt: 1, UpdatedAt: 2},
		{Key: "agent:main:main", Label: "two", UpdatedAt: 1},
		{Key: "agent:main:b", Label: "two"},
		{Key: "agent:ops:c", Label: "two"},
		{Key: "agent:main:unknown", Label: "hidden"},
	}}
	for i := range maxNamed + 3 {
		store.Sessions = append(store.Sessions, abi.Session{Key: "agent:main:many" + string(rune('a'+i)), Label: "many"})
	}
	tests := []struct {
		name, config string
		caller       abi.Caller
		label, agent string
		want, text   string
		code         abi.Code
	}{
		{"one active, one archived", agentWide, abi.Caller{SessionKey: "agent:main:x", AgentID: "main"}, "one", "", "agent:main:one", "", ""},
		{"only archived", agentWide, abi.Caller{SessionKey: "agent:main:x", AgentID: "main"}, "gone", "", "agent:main:gone-newer", "", ""},
		{"no match", agentWide, abi.Caller{SessionKey: "agent:main:x", AgentID: "main"}, "none", "", "", `no session with the label "none" is visible here`, abi.NotFound},
		{"label in another case", agentWide, abi.Caller{SessionKey: "agent:main:x", AgentID: "main"}, "One", "", "", `no session with the label "One"`, abi.NotFound},
		{"not visible", `{}`, abi.Caller{SessionKey: "agent:main:x", AgentID: "main"}, "one", "", "", `no session with the label "one"`, abi.NotFound},
		{"hidden", agentWide, abi.Caller{SessionKey: "agent:main:x", AgentID: "main"}, "hidden", "", "", `no session with the label "hidden"`, abi.NotFound},
		{"two of three visible", agentWide, abi.Caller{SessionKey: "agent:main:x", AgentID: "main"}, "two", "", "", "sessionKey: main, agent:main:b", abi.InvalidArgs},
		{"three for the operator", `{}`, abi.Caller{Operator: true}, "two", "", "", "sessionKey: main, agent:main:b, agent:ops:c", abi.InvalidArgs},
		{"with agentId", `{}`, abi.Caller{Operator: true}, "two", "ops", "agent:ops:c", "", ""},
		{"no match with agentId", `{}`, abi.Caller{Operator: true}, "one", "ops", "", `the label "one" and the agent ops`, abi.NotFound},
		{"more than maxNamed", agentWide, abi.Caller{SessionKey: "agent:main:x", AgentID: "main"}, "many", "", "", "agent:main:manyj, and more", abi.InvalidArgs},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, bad := settings.Parse(tt.config)
			if bad != nil {
				t.Fatal(bad)
			}
			row, err := Labelled(guest.NewClient(store), visibility.New(s, &tt.caller), tt.label, tt.agent)
			switch {
			case tt.want != "":
				if err != nil || row.Key != tt.want {
					t.Errorf("S4.1 %+v, %v", row, err)
				}
			case !errors.Is(err, tt.code) || !strings.Contains(err.Error(), tt.text):
				t.Errorf("S4.1 %v; want %s, %s", err, tt.code, tt.text)
			}
		})
	}
}
