package abi

import (
	"strconv"

	"github.com/parley-wasm/parley/abi/jsonappend"
)

// Session is a stored session as the plugin sees it: facts, not yet shaped for
// a caller. Strings are trimmed; absent is empty. Times are milliseconds.
type Session struct {
	Key             string // canonical (S1.1)
	AgentID         string
	Kind            string // structural kind of the key: group, cron, hook, node, other; "main" depends on settings (S1.6). The plugin goes by the key
	SessionID       string
	UpdatedAt       int64
	Label           string
	DisplayName     string
	Subject         string
	ChatType        string // direct, group, channel, or empty when unknown
	Channel         string // recorded on the entry; the tool's rules for showing one are S1.7
	DeliveryContext Target
	LastChannel     string
	LastTo          string
	LastAccountID   string
	LastThreadID    string
	Model           string // the model that last really ran
	ModelOverride   string // the model that runs here are to use
	ContextTokens   *int64
	TotalTokens     *int64
	ThinkingLevel   string
	VerboseLevel    string
	SystemSent      *bool
	AbortedLastRun  *bool
	SendPolicy      string // the session's own override: allow, deny, or empty
	SpawnedBy       string // canonical key of the parent
	Sandboxed       bool   // its runs are held to the sandbox (S7.3), because who spawned it was
	Status          string // running, done, failed, killed, timeout, or empty
	ArchivedAt      int64  // 0 = not archived
	TranscriptPath  string // best effort, for people
}

// Target is where a message is delivered (S9).
type Target struct {
	Channel   string `json:"channel,omitempty"`
	To        string `json:"to,omitempty"`
	AccountID string `json:"accountId,omitempty"`
	ThreadID  string `json:"threadId,omitempty"` // always a string inside
}

// IsZero reports whether the target is empty.
func (t Target) IsZero() bool { return t == Target{} }

// AppendJSON appends the target's JSON.
func (t Target) AppendJSON(b []byte) []byte {
	o := jsonappend.Open(b)
	o.OptString("channel", t.Channel)
	o.OptString("to", t.To)
	o.OptString("accountId", t.AccountID)
	o.OptString("threadId", t.ThreadID)
	return o.Close()
}

// AppendJSON appends the session's JSON: required members always, optional ones
// when set.
func (s *Session) AppendJSON(b []byte) []byte {
	o := jsonappend.Open(b)
	o.String("key", s.Key)
	o.String("agentId", s.AgentID)
	o.String("kind", s.Kind)
	o.String("sessionId", s.SessionID)
	o.Int("updatedAt", s.UpdatedAt)
	o.OptString("label", s.Label)
	o.OptString("displayName", s.DisplayName)
	o.OptString("subject", s.Subject)
	o.OptString("chatType", s.ChatType)
	o.OptString("channel", s.Channel)
	if !s.DeliveryContext.IsZero() {
		o.Value(s.DeliveryContext.AppendJSON(o.Key("deliveryContext")))
	}
	o.OptString("lastChannel", s.LastChannel)
	o.OptString("lastTo", s.LastTo)
	o.OptString("lastAccountId", s.LastAccountID)
	o.OptString("lastThreadId", s.LastThreadID)
	o.OptString("model", s.Model)
	o.OptString("modelOverride", s.ModelOverride)
	optInt(&o, "contextTokens", s.ContextTokens)
	optInt(&o, "totalTokens", s.TotalTokens)
	o.OptString("thinkingLevel", s.ThinkingLevel)
	o.OptString("verboseLevel", s.VerboseLevel)
	optBool(&o, "systemSent", s.SystemSent)
	optBool(&o, "abortedLastRun", s.AbortedLastRun)
	o.OptString("sendPolicy", s.SendPolicy)
	o.OptString("spawnedBy", s.SpawnedBy)
	o.OptBool("sandboxed", s.Sandboxed)
	o.OptString("status", s.Status)
	o.OptInt("archivedAt", s.ArchivedAt)
	o.OptString("transcriptPath", s.TranscriptPath)
	return o.Close()
}

func optInt(o *jsonappend.Object, name string, v *int64) {
	if v != nil {
		o.Int(name, *v)
	}
}

func optBool(o *jsonappend.Object, name string, v *bool) {
	if v != nil {
		o.Bool(name, *v)
	}
}

// Message is one transcript message as a host function gives it to the plugin.
type Message struct {
	Seq  int64  // position in the session's transcript, growing
	JSON []byte // the raw message object, less what Cut names
	Cut  []Cut  // what the host shortened
}

// Cut says that the JSON string at Path was longer than MaxString and holds only
// its beginning. A message that stays over MaxMessage is emptied but for its
// role and timestamp, and its Path is "", the whole document.
type Cut struct {
	Path  string // JSON Pointer (RFC 6901) into the message
	Bytes int64  // length before the cut: of the decoded string, or of the message
}

// AppendJSON appends the message's JSON.
func (m *Message) AppendJSON(b []byte) []byte {
	o := jsonappend.Open(b)
	o.Int("seq", m.Seq)
	o.Raw("message", m.JSON)
	if len(m.Cut) > 0 {
		c := append(o.Key("cut"), '[')
		for i, cut := range m.Cut {
			if i > 0 {
				c = append(c, ',')
			}
			c = jsonappend.String(append(c, `{"path":`...), cut.Path)
			c = strconv.AppendInt(append(c, `,"bytes":`...), cut.Bytes, 10)
			c = append(c, '}')
		}
		o.Value(append(c, ']'))
	}
	return o.Close()
}
