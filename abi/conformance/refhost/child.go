package refhost

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/conformance/vector"
	"github.com/parley-wasm/parley/abi/internal/jsonvalue"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

// create records the creation of a child session (S5.3).
func (s *hostStep) create(f *jsonvalue.Fields) ([]byte, error) {
	c, max := s.flow.caller, 0
	session := abi.Session{SpawnedBy: c.SessionKey, Sandboxed: c.Sandboxed, UpdatedAt: s.host.now}
	f.Required("agentId", &session.AgentID)
	f.Text("label", &session.Label)
	f.Text("model", &session.ModelOverride)
	f.Text("thinkingLevel", &session.ThinkingLevel)
	f.Int("maxActive", &max)
	if id, err := sessionkey.AgentID(session.AgentID); err != nil || id != session.AgentID {
		f.Wrong("agentId", "an agent id")
	}
	if utf8.RuneCountInString(session.Label) > abi.MaxLabel || utf8.RuneCountInString(session.ModelOverride) > abi.MaxName || utf8.RuneCountInString(session.ThinkingLevel) > abi.MaxName {
		f.Wrong("label", "a label, model and thinkingLevel within their maximum lengths")
	}
	if err := f.Done(); err != nil {
		return nil, err
	}
	if session.AgentID != c.AgentID && !s.host.settings.configured(session.AgentID) {
		return nil, abi.NewError(abi.NotFound, "agent "+session.AgentID+" is not configured")
	}
	if own := s.host.settings.maxActiveChildren; max == 0 || own < max {
		max = own
	}
	if active := s.host.activeChildren(c.SessionKey) + len(s.created); c.Depth > 0 || active >= max && !c.Operator {
		return nil, abi.NewError(abi.Forbidden, fmt.Sprintf("a child session, or a session with %d active children, must not create a child", active))
	}
	session.Key = sessionkey.ChildOf(session.AgentID, s.host.newID("child"))
	session.Kind, session.SessionID = sessionkey.Kind(session.Key), s.host.newID("session")
	session.TranscriptPath = vector.TranscriptPath(session.SessionID)
	child := &vector.StoredSession{Session: session}
	s.created = append(s.created, child)
	parent := abi.Session{Key: c.SessionKey, AgentID: s.host.settings.agentOf(c.SessionKey), Kind: sessionkey.Kind(c.SessionKey), SessionID: s.host.newID("session"), UpdatedAt: s.host.now}
	s.effects = append(s.effects, func() {
		if !c.Operator && s.host.session(parent.Key) == nil {
			s.host.sessions = append(s.host.sessions, vector.StoredSession{Session: parent})
		}
		s.host.sessions = append(s.host.sessions, *child)
		s.flow.created = append(s.flow.created, child.Session.Key)
	})
	return abi.AppendReply(nil, &abi.CreateReply{SessionKey: session.Key, SessionID: session.SessionID}), nil
}

// createdChild returns the session with this key that the step creates, or nil.
func (s *hostStep) createdChild(key string) *vector.StoredSession {
	for _, child := range s.created {
		if child.Session.Key == key {
			return child
		}
	}
	return nil
}

// remove records that a child is archived or deleted (S5.7).
func (s *hostStep) remove(f *jsonvalue.Fields, deletes bool) ([]byte, error) {
	var key string
	f.Required("sessionKey", &key)
	if err := f.Done(); err != nil {
		return nil, err
	}
	session := s.host.session(key)
	switch {
	case !slices.Contains(s.flow.created, key):
		return nil, abi.NewError(abi.Forbidden, "session "+key+" is not a child of this flow")
	case session == nil:
		return nil, abi.NewError(abi.NotFound, "session "+key+" does not exist")
	case s.host.busy(key):
		return nil, abi.NewError(abi.Conflict, "a run of session "+key+" has not ended")
	}
	s.effects = append(s.effects, func() {
		if deletes {
			s.host.sessions = slices.DeleteFunc(s.host.sessions, func(stored vector.StoredSession) bool { return stored.Session.Key == key })
		} else if row := s.host.session(key); row.ArchivedAt == 0 {
			row.ArchivedAt = s.host.now
		}
	})
	return abi.AppendDoneReply(nil), nil
}
