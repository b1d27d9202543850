package vector

import (
	"encoding/json"
	"fmt"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/conformance/jsonvalue"
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
	if err := jsonvalue.Only(o, "sessions"); err != nil {
		return nil, err
	}
	c := &Contents{}
	seen := map[string]bool{}
	for i, item := range jsonvalue.List(o["sessions"]) {
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
	f := jsonvalue.Fields{Object: o, What: "session"}
	f.Text("key", &s.Key)
	f.Text("sessionId", &s.SessionID)
	f.Int64("updatedAt", &s.UpdatedAt)
	f.Text("label", &s.Label)
	f.Text("displayName", &s.DisplayName)
	f.Text("subject", &s.Subject)
	f.Text("chatType", &s.ChatType)
	f.Text("channel", &s.Channel)
	f.Text("lastChannel", &s.LastChannel)
	f.Text("lastTo", &s.LastTo)
	f.Text("lastAccountId", &s.LastAccountID)
	f.Text("lastThreadId", &s.LastThreadID)
	f.Text("model", &s.Model)
	f.OptInt("contextTokens", &s.ContextTokens)
	f.OptInt("totalTokens", &s.TotalTokens)
	f.Text("thinkingLevel", &s.ThinkingLevel)
	f.Text("verboseLevel", &s.VerboseLevel)
	f.OptFlag("systemSent", &s.SystemSent)
	f.OptFlag("abortedLastRun", &s.AbortedLastRun)
	f.Text("sendPolicy", &s.SendPolicy)
	f.Text("spawnedBy", &s.SpawnedBy)
	f.Flag("sandboxed", &s.Sandboxed)
	f.Text("status", &s.Status)
	f.Int64("archivedAt", &s.ArchivedAt)
	f.Text("transcriptPath", &s.TranscriptPath)
	if d, ok := f.Take("deliveryContext").(map[string]any); ok {
		t := jsonvalue.Fields{Object: d, What: "deliveryContext"}
		t.Text("channel", &s.DeliveryContext.Channel)
		t.Text("to", &s.DeliveryContext.To)
		t.Text("accountId", &s.DeliveryContext.AccountID)
		t.Text("threadId", &s.DeliveryContext.ThreadID)
		f.Fail(t.Done())
	}
	if messages, ok := f.Take("messages").([]any); ok {
		for i, m := range messages {
			if _, ok := m.(map[string]any); !ok {
				f.Fail(fmt.Errorf("messages: %d is no object", i))
			}
			stored.Messages = append(stored.Messages, jsonvalue.Compact(m))
		}
	}
	agent, _, canonical := sessionkey.Split(s.Key)
	if !canonical && s.Key != sessionkey.Global {
		f.Fail(fmt.Errorf("key %q is not canonical", s.Key))
	}
	s.AgentID, s.Kind = agent, sessionkey.Kind(s.Key)
	if s.Key == sessionkey.Global {
		// The default agent's, whose id a store of one vector cannot know.
		s.AgentID = sessionkey.DefaultAgent
	}
	if s.SessionID == "" || s.UpdatedAt == 0 {
		f.Fail(fmt.Errorf("%s: sessionId and updatedAt are required", s.Key))
	}
	return stored, f.Done()
}
