package list

import (
	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/abi/policy"
	"github.com/parley-wasm/parley/plugin/rules/visibility"
)

// appendSession appends the members of a row except messages (S2.3).
func appendSession(o *jsonappend.Object, v *visibility.View, s *abi.Session) {
	kind := v.Keys.KindOf(s.Key)
	o.String("key", v.Show(s.Key))
	o.String("kind", kind)
	o.String("channel", clip(policy.Channel(s, kind)))
	o.String("agentId", v.AgentOf(s.Key))
	text(o, "label", s.Label)
	text(o, "displayName", s.DisplayName)
	o.Int("updatedAt", s.UpdatedAt)
	o.String("sessionId", s.SessionID)
	text(o, "model", s.Model)
	if s.ContextTokens != nil {
		o.Int("contextTokens", *s.ContextTokens)
	}
	if s.TotalTokens != nil {
		o.Int("totalTokens", *s.TotalTokens)
	}
	text(o, "thinkingLevel", s.ThinkingLevel)
	text(o, "verboseLevel", s.VerboseLevel)
	if s.SystemSent != nil {
		o.Bool("systemSent", *s.SystemSent)
	}
	if s.AbortedLastRun != nil {
		o.Bool("abortedLastRun", *s.AbortedLastRun)
	}
	switch s.SendPolicy {
	case "allow", "deny":
		o.String("sendPolicy", s.SendPolicy)
	}
	text(o, "lastChannel", s.LastChannel)
	text(o, "lastTo", s.LastTo)
	if t := policy.DeliveryContext(s); !t.IsZero() {
		d := jsonappend.Open(o.Key("deliveryContext"))
		text(&d, "channel", t.Channel)
		text(&d, "to", t.To)
		text(&d, "accountId", t.AccountID)
		text(&d, "threadId", t.ThreadID)
		o.Value(d.Close())
	}
	if s.SpawnedBy != "" {
		o.String("spawnedBy", v.Show(s.SpawnedBy))
	}
	switch s.Status {
	case "running", "done", "failed", "killed", "timeout":
		o.String("status", s.Status)
	}
	o.OptBool("archived", s.ArchivedAt > 0)
	text(o, "transcriptPath", s.TranscriptPath)
}

func text(o *jsonappend.Object, name, s string) { o.OptString(name, clip(s)) }

// maxField is the length of the longest text in a row, in bytes. Stored texts are not
// bounded, and the row must fit into a result.
const maxField = 4000

func clip(s string) string {
	if len(s) <= maxField {
		return s
	}
	end := maxField
	for end > 0 && s[end]&0xC0 == 0x80 {
		end--
	}
	return s[:end] + "…"
}
