package abi

import (
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi/jsonobject"
)

// Session is a stored session as the plugin sees it, not yet filtered or renamed for a
// caller. Strings are trimmed; an absent one is empty. Times are milliseconds.
type Session struct {
	Key             string // canonical (S1.1)
	AgentID         string
	Kind            string // one of the six kinds (S1.6), for the host; the plugin derives the kind from the key and the settings
	SessionID       string
	UpdatedAt       int64
	Label           string
	DisplayName     string
	Subject         string
	ChatType        string // direct, group, channel, or empty when unknown
	Channel         string // as stored; S1.7 defines the channel that the tools show
	DeliveryContext Target
	LastChannel     string
	LastTo          string
	LastAccountID   string
	LastThreadID    string
	Model           string // model of the last run
	ModelOverride   string // model for the session's runs
	ContextTokens   *int64
	TotalTokens     *int64
	ThinkingLevel   string
	VerboseLevel    string
	SystemSent      *bool
	AbortedLastRun  *bool
	SendPolicy      string // the session's own override: allow, deny, or empty
	SpawnedBy       string // canonical key of the parent
	Sandboxed       bool   // a sandboxed session spawned it (S7.3)
	Status          string // running, done, failed, killed, timeout, or empty
	ArchivedAt      int64  // 0: not archived
	TranscriptPath  string // path that the transcript would have as a file; for people
}

// sessionMembers lists, up to transcriptPath, the members that derive requests may have.
// Add new members after transcriptPath: only replies may have them (README.md, section
// 10).
var sessionMembers = jsonobject.New(
	jsonobject.Required("key", text, func(s *Session) any { return &s.Key }),
	jsonobject.Always("agentId", text, func(s *Session) any { return &s.AgentID }),
	jsonobject.Always("kind", text, func(s *Session) any { return &s.Kind }),
	jsonobject.Always("sessionId", text, func(s *Session) any { return &s.SessionID }),
	jsonobject.Always("updatedAt", whole, func(s *Session) any { return &s.UpdatedAt }),
	jsonobject.Optional("label", text, func(s *Session) any { return &s.Label }),
	jsonobject.Optional("displayName", text, func(s *Session) any { return &s.DisplayName }),
	jsonobject.Optional("subject", text, func(s *Session) any { return &s.Subject }),
	jsonobject.Optional("chatType", text, func(s *Session) any { return &s.ChatType }),
	jsonobject.Optional("channel", text, func(s *Session) any { return &s.Channel }),
	jsonobject.Optional("deliveryContext", object, func(s *Session) any { return &s.DeliveryContext }),
	jsonobject.Optional("lastChannel", text, func(s *Session) any { return &s.LastChannel }),
	jsonobject.Optional("lastTo", text, func(s *Session) any { return &s.LastTo }),
	jsonobject.Optional("lastAccountId", text, func(s *Session) any { return &s.LastAccountID }),
	jsonobject.Optional("lastThreadId", text, func(s *Session) any { return &s.LastThreadID }),
	jsonobject.Optional("model", text, func(s *Session) any { return &s.Model }),
	jsonobject.Optional("modelOverride", text, func(s *Session) any { return &s.ModelOverride }),
	jsonobject.Optional("contextTokens", whole, func(s *Session) any { return &s.ContextTokens }),
	jsonobject.Optional("totalTokens", whole, func(s *Session) any { return &s.TotalTokens }),
	jsonobject.Optional("thinkingLevel", text, func(s *Session) any { return &s.ThinkingLevel }),
	jsonobject.Optional("verboseLevel", text, func(s *Session) any { return &s.VerboseLevel }),
	jsonobject.Optional("systemSent", flag, func(s *Session) any { return &s.SystemSent }),
	jsonobject.Optional("abortedLastRun", flag, func(s *Session) any { return &s.AbortedLastRun }),
	jsonobject.Optional("sendPolicy", text, func(s *Session) any { return &s.SendPolicy }),
	jsonobject.Optional("spawnedBy", text, func(s *Session) any { return &s.SpawnedBy }),
	jsonobject.Optional("sandboxed", flag, func(s *Session) any { return &s.Sandboxed }),
	jsonobject.Optional("status", text, func(s *Session) any { return &s.Status }),
	jsonobject.Optional("archivedAt", whole, func(s *Session) any { return &s.ArchivedAt }),
	jsonobject.Optional("transcriptPath", text, func(s *Session) any { return &s.TranscriptPath }),
)

// ReadJSON reads the JSON that AppendJSON writes.
func (s *Session) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return sessionMembers.Read(v, s, mode)
}

// AppendJSON appends the session's JSON.
func (s *Session) AppendJSON(b []byte) []byte { return sessionMembers.Append(b, s) }

// Target is the destination of a delivery (S9).
type Target struct {
	Channel   string `json:"channel,omitempty"`
	To        string `json:"to,omitempty"`
	AccountID string `json:"accountId,omitempty"`
	ThreadID  string `json:"threadId,omitempty"` // a string even if the channel's ids are numbers
}

var targetMembers = jsonobject.New(
	jsonobject.Optional("channel", text, func(t *Target) any { return &t.Channel }),
	jsonobject.Optional("to", text, func(t *Target) any { return &t.To }),
	jsonobject.Optional("accountId", text, func(t *Target) any { return &t.AccountID }),
	jsonobject.Optional("threadId", text, func(t *Target) any { return &t.ThreadID }),
)

// IsZero reports whether the target is empty.
func (t *Target) IsZero() bool { return *t == Target{} }

// ReadJSON reads the JSON that AppendJSON writes.
func (t *Target) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return targetMembers.Read(v, t, mode)
}

// AppendJSON appends the target's JSON.
func (t *Target) AppendJSON(b []byte) []byte { return targetMembers.Append(b, t) }
