package chat_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/chat"
)

func text(s string) *string { return &s }

func yes(b bool) *bool { return &b }

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
		{"deny", chat.Patch{SendPolicy: text("deny")}, func(s *abi.Session) { s.SendPolicy = "deny" }},
		{"allow", chat.Patch{SendPolicy: text(" allow ")}, func(s *abi.Session) { s.SendPolicy = "allow" }},
		{"unset", chat.Patch{SendPolicy: text("")}, func(s *abi.Session) { s.SendPolicy = "" }},
		{"all texts", chat.Patch{Label: text(strings.Repeat("é", 64)), DisplayName: text(" The Group "), Model: text("large"), ThinkingLevel: text("high"), VerboseLevel: text("on")},
			func(s *abi.Session) {
				s.Label, s.DisplayName, s.ModelOverride, s.ThinkingLevel, s.VerboseLevel = strings.Repeat("é", 64), "The Group", "large", "high", "on"
			}},
		{"one text", chat.Patch{Label: text("ops")}, func(s *abi.Session) { s.Label = "ops" }},
		{"texts unset", chat.Patch{Label: text(" "), DisplayName: text(""), Model: text(""), ThinkingLevel: text(""), VerboseLevel: text("")},
			func(s *abi.Session) {
				s.Label, s.DisplayName, s.ModelOverride, s.ThinkingLevel, s.VerboseLevel = "", "", "", "", ""
			}},
		{"archived", chat.Patch{Archived: yes(true)}, func(s *abi.Session) { s.ArchivedAt = start }},
		{"archived again", chat.Patch{Archived: yes(true)}, func(s *abi.Session) {}},
		{"patched while archived", chat.Patch{Label: text("old")}, func(s *abi.Session) { s.Label = "old" }},
		{"unarchived", chat.Patch{Archived: yes(false)}, func(s *abi.Session) { s.ArchivedAt = 0 }},
		{"unarchived again", chat.Patch{Archived: yes(false)}, func(s *abi.Session) {}},
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

func TestPatchRefused(t *testing.T) {
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
		{"not stored", chat.Patch{Key: "agent:main:dm:1", Label: text("x")}, abi.NotFound, `there is no session "agent:main:dm:1"`},
		{"policy", chat.Patch{Key: "main", SendPolicy: text("inherit")}, abi.InvalidArgs, `sendPolicy is "inherit"; it must be one of allow, deny, or null`},
		{"a long label", chat.Patch{Key: "main", Label: text(strings.Repeat("é", 65))}, abi.InvalidArgs, "label is 65 characters long; at most 64"},
		{"a label of two lines", chat.Patch{Key: "main", Label: text("a\nb")}, abi.InvalidArgs, "label contains control characters"},
		{"a long name", chat.Patch{Key: "main", DisplayName: text(strings.Repeat("x", 201))}, abi.InvalidArgs, "displayName is 201 characters"},
		{"an unknown model", chat.Patch{Key: "main", Model: text("huge")}, abi.InvalidArgs, `model "huge" is not one of models.allow: small`},
		{"one of two is wrong", chat.Patch{Key: "main", Label: text("x"), VerboseLevel: text("\x00")}, abi.InvalidArgs, "verboseLevel contains control"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f.t = t
			_, err := f.Patch(t.Context(), &tt.patch)
			f.refused(err, tt.code, tt.text)
			if d := cmp.Diff(stored, f.session("agent:main:main")); d != "" || f.session("agent:main:dm:1") != nil {
				t.Errorf("something was written: %s", d)
			}
		})
	}
}
