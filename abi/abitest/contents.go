package abitest

import (
	"encoding/json"
	"fmt"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

// Contents is what a vector stores before the call:
//
//	{"sessions": [{…members of abi.Session by their JSON names…, "messages": [{…}…]}…]}
//
// agentId and kind are not given: they follow from the key. Messages are raw
// message objects, oldest first, and are stored in their Compact form.
type Contents struct {
	Sessions []StoredSession
}

// StoredSession is a session with its transcript, oldest first.
type StoredSession struct {
	Session  abi.Session
	Messages [][]byte
}

// Role returns the role of a raw message, empty when it has none.
func Role(message []byte) string {
	var m struct {
		Role string `json:"role"`
	}
	// A message whose role is no text has no role.
	_ = json.Unmarshal(message, &m)
	return m.Role
}

func contents(v any) (*Contents, error) {
	v, err := Expand(v)
	if err != nil {
		return nil, err
	}
	o, _ := v.(map[string]any)
	if err := only(o, "sessions"); err != nil {
		return nil, err
	}
	c := &Contents{}
	seen := map[string]bool{}
	for i, item := range list(o["sessions"]) {
		so, _ := item.(map[string]any)
		s, err := storedSession(so)
		if err == nil && seen[s.Session.Key] {
			err = fmt.Errorf("%s is there twice", s.Session.Key)
		}
		if err != nil {
			return nil, fmt.Errorf("sessions: %d: %w", i, err)
		}
		seen[s.Session.Key] = true
		c.Sessions = append(c.Sessions, s)
	}
	return c, nil
}

func storedSession(o map[string]any) (StoredSession, error) {
	var stored StoredSession
	s := &stored.Session
	f := fields{o: o, what: "session"}
	f.text("key", &s.Key)
	f.text("sessionId", &s.SessionID)
	f.int64("updatedAt", &s.UpdatedAt)
	f.text("label", &s.Label)
	f.text("displayName", &s.DisplayName)
	f.text("subject", &s.Subject)
	f.text("chatType", &s.ChatType)
	f.text("channel", &s.Channel)
	f.text("lastChannel", &s.LastChannel)
	f.text("lastTo", &s.LastTo)
	f.text("lastAccountId", &s.LastAccountID)
	f.text("lastThreadId", &s.LastThreadID)
	f.text("model", &s.Model)
	f.optInt("contextTokens", &s.ContextTokens)
	f.optInt("totalTokens", &s.TotalTokens)
	f.text("thinkingLevel", &s.ThinkingLevel)
	f.text("verboseLevel", &s.VerboseLevel)
	f.optFlag("systemSent", &s.SystemSent)
	f.optFlag("abortedLastRun", &s.AbortedLastRun)
	f.text("sendPolicy", &s.SendPolicy)
	f.text("spawnedBy", &s.SpawnedBy)
	f.flag("sandboxed", &s.Sandboxed)
	f.text("status", &s.Status)
	f.int64("archivedAt", &s.ArchivedAt)
	f.text("transcriptPath", &s.TranscriptPath)
	if d, ok := f.take("deliveryContext").(map[string]any); ok {
		t := fields{o: d, what: "deliveryContext"}
		t.text("channel", &s.DeliveryContext.Channel)
		t.text("to", &s.DeliveryContext.To)
		t.text("accountId", &s.DeliveryContext.AccountID)
		t.text("threadId", &s.DeliveryContext.ThreadID)
		f.fail(t.done())
	}
	if messages, ok := f.take("messages").([]any); ok {
		for i, m := range messages {
			if _, ok := m.(map[string]any); !ok {
				f.fail(fmt.Errorf("messages: %d is no object", i))
			}
			stored.Messages = append(stored.Messages, Compact(m))
		}
	}
	agent, _, canonical := sessionkey.Split(s.Key)
	if !canonical && s.Key != sessionkey.Global {
		f.fail(fmt.Errorf("key %q is not canonical", s.Key))
	}
	s.AgentID, s.Kind = agent, sessionkey.Kind(s.Key)
	if s.Key == sessionkey.Global {
		// The default agent's, whose id a store of one vector cannot know.
		s.AgentID = sessionkey.DefaultAgent
	}
	if s.SessionID == "" || s.UpdatedAt == 0 {
		f.fail(fmt.Errorf("%s: sessionId and updatedAt are required", s.Key))
	}
	return stored, f.done()
}
