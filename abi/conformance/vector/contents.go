package vector

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/internal/jsonvalue"
	"github.com/parley-wasm/parley/abi/jsonobject"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

// Contents is the data that the store holds before a vector's first step:
//
//	{"sessions": [{…members of abi.Session by their JSON names…, "messages": [{…}…]}…]}
//
// agentId and kind must be absent: they follow from the key. Messages are raw
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
	// A role that is not a string counts as absent.
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
			err = fmt.Errorf("%s appears twice", s.Session.Key)
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
	if messages, ok := o["messages"].([]any); ok {
		for i, m := range messages {
			if _, ok := m.(map[string]any); !ok {
				return stored, fmt.Errorf("session: messages: %d is not an object", i)
			}
			stored.Messages = append(stored.Messages, jsonvalue.Compact(m))
		}
		delete(o, "messages")
	}
	if p := s.ReadJSON(gjson.ParseBytes(jsonvalue.Compact(o)), jsonobject.Strict); p != nil {
		return stored, fmt.Errorf("session: %w", p)
	}
	if s.AgentID != "" || s.Kind != "" {
		return stored, errors.New("session: agentId and kind follow from the key")
	}
	agent, _, canonical := sessionkey.Split(s.Key)
	if !canonical && s.Key != sessionkey.Global {
		return stored, fmt.Errorf("session: key %q is not canonical", s.Key)
	}
	s.AgentID, s.Kind = agent, sessionkey.Kind(s.Key)
	if s.Key == sessionkey.Global {
		// The session belongs to the default agent, whose id the loader does not know.
		s.AgentID = sessionkey.DefaultAgent
	}
	if s.SessionID == "" || s.UpdatedAt == 0 {
		return stored, fmt.Errorf("session: %s: sessionId and updatedAt are required", s.Key)
	}
	return stored, nil
}
