package chat_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/chat"
)

func stringPtr(s string) *string { return &s }

func boolPtr(b bool) *bool { return &b }

func TestPatch(t *testing.T) {
	f := newFixture(t, `{models: {allow: ["small", "large"]}}`)
	stored := &abi.Session{Key: "agent:main:main", AgentID: "main", Kind: "other", SessionID: "s", UpdatedAt: 5, Model: "ran"}
	f.put(stored)
	for _, tt := range []struct {
		name   string
		patch  chat.Patch
		change func(*abi.Session)
	}{
		{"nothing", chat.Patch{}, func(*abi.Session) {}},
		{"deny", chat.Patch{SendPolicy: stringPtr("deny")}, func(s *abi.Session) { s.SendPolicy = "deny" }},
		{"allow", chat.Patch{SendPolicy: stringPtr(" allow ")}, func(s *abi.Session) { s.SendPolicy = "allow" }},
		{"unset", chat.Patch{SendPolicy: stringPtr("")}, func(s *abi.Session) { s.SendPolicy = "" }},
		{"all texts", chat.Patch{Label: stringPtr(strings.Repeat("é", 64)), DisplayName: stringPtr(" The Group "), Model: stringPtr("large"), ThinkingLevel: stringPtr("high"), VerboseLevel: stringPtr("on")},
			func(s *abi.Session) {
				s.Label, s.DisplayName, s.ModelOverride, s.ThinkingLevel, s.VerboseLevel = strings.Repeat("é", 64), "The Group", "large", "high", "on"
			}},
		{"one text", chat.Patch{Label: stringPtr("ops")}, func(s *abi.Session) { s.Label = "ops" }},
		{"texts unset", chat.Patch{Label: stringPtr(" "), DisplayName: stringPtr(""), Model: stringPtr(""), ThinkingLevel: stringPtr(""), VerboseLevel: stringPtr("")},
			func(s *abi.Session) {
				s.Label, s.DisplayName, s.ModelOverride, s.ThinkingLevel, s.VerboseLevel = "", "", "", "", ""
			}},
		{"archived", chat.Patch{Archived: boolPtr(true)}, func(s *abi.Session) { s.ArchivedAt = start }},
		{"archived again", chat.Patch{Archived: boolPtr(true)}, func(s *abi.Session) {}},
		{"patched while archived", chat.Patch{Label: stringPtr("old")}, func(s *abi.Session) { s.Label = "old" }},
		{"unarchived", chat.Patch{Archived: boolPtr(false)}, func(s *abi.Session) { s.ArchivedAt = 0 }},
		{"unarchived again", chat.Patch{Archived: boolPtr(false)}, func(s *abi.Session) {}},
	} {
		t.Run("S8.2 "+tt.name, func(t *testing.T) {
			f.t = t
			tt.patch.Key = "main"
			got, err := f.Patch(t.Context(), &tt.patch)
			if err != nil {
				t.Fatal(err)
			}
			tt.change(stored)
			if d := cmp.Diff(stored, got); d != "" {
				t.Errorf("returned: %s", d)
			}
			if d := cmp.Diff(stored, f.session("agent:main:main")); d != "" {
				t.Errorf("stored: %s", d)
			}
			if tt.name == "archived" {
				f.now += 1000
			}
		})
	}
}

func TestInvalidPatches(t *testing.T) {
	f := newFixture(t, `{models: {allow: ["small"]}}`)
	stored := &abi.Session{Key: "agent:main:main", AgentID: "main", Kind: "other", SessionID: "s", UpdatedAt: 5}
	f.put(stored)
	for _, tt := range []struct {
		name  string
		patch chat.Patch
		code  abi.Code
		text  string
	}{
		{"no key", chat.Patch{}, abi.InvalidArgs, "sessionKey is missing"},
		{"a reserved key", chat.Patch{Key: "global"}, abi.InvalidArgs, "reserved word"},
		{"not stored", chat.Patch{Key: "agent:main:dm:1", Label: stringPtr("x")}, abi.NotFound, `there is no session "agent:main:dm:1"`},
		{"policy", chat.Patch{Key: "main", SendPolicy: stringPtr("inherit")}, abi.InvalidArgs, `sendPolicy is "inherit"; it must be one of allow, deny, or null`},
		{"a long label", chat.Patch{Key: "main", Label: stringPtr(strings.Repeat("é", 65))}, abi.InvalidArgs, "label is 65 characters long; at most 64"},
		{"a label of two lines", chat.Patch{Key: "main", Label: stringPtr("a\nb")}, abi.InvalidArgs, "label contains control characters"},
		{"a long name", chat.Patch{Key: "main", DisplayName: stringPtr(strings.Repeat("x", 201))}, abi.InvalidArgs, "displayName is 201 characters"},
		{"an unknown model", chat.Patch{Key: "main", Model: stringPtr("huge")}, abi.InvalidArgs, `model "huge" is not one of models.allow: small`},
		{"one of two is wrong", chat.Patch{Key: "main", Label: stringPtr("x"), VerboseLevel: stringPtr("\x00")}, abi.InvalidArgs, "verboseLevel contains control"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f.t = t
			_, err := f.Patch(t.Context(), &tt.patch)
			f.expectError(err, tt.code, tt.text)
			if d := cmp.Diff(stored, f.session("agent:main:main")); d != "" || f.session("agent:main:dm:1") != nil {
				t.Errorf("something was written: %s", d)
			}
		})
	}
}
