// Package derive computes the session context of a session under the settings: its
// agent and kind, its channel and delivery target, whether it may receive and deliver,
// and the caller of the calls that its runs make. A host that uses it need not implement
// the rules for keys (S1), the sandbox (S0.3), the send policy (S8) and targets (S9).
package derive

import (
	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/policy"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/plugin/internal/view"
	"github.com/parley-wasm/parley/plugin/rules/settings"
)

// Context returns the session context. It fails with abi.InvalidArgs for a session whose
// key is malformed, and with abi.Internal for a relevant setting with an unknown value.
func Context(q *abi.DeriveRequest) (*abi.SessionContext, *abi.Error) {
	config := view.String(q.Config)
	s, bad := settings.Parse(config)
	if bad != nil {
		return nil, bad
	}
	send, bad := settings.Send(config)
	if bad != nil {
		return nil, bad
	}
	session := &q.Session
	agent, bad := agentOf(session, s.Keys)
	if bad != nil {
		return nil, bad
	}
	session.AgentID = agent
	boxed, bad := s.Sandboxed(config, agent, session.Key)
	if bad != nil {
		return nil, bad
	}
	kind := s.Keys.KindOf(session.Key)
	f := &abi.SessionContext{
		AgentID: agent, Kind: kind, Hidden: s.Keys.Hidden(session.Key), Channel: policy.Channel(session, kind),
		Receive: send.Receive(s.Keys, session),
		Caller:  abi.Caller{SessionKey: session.Key, AgentID: agent, Sandboxed: boxed || session.Sandboxed, Depth: policy.Depth(session)},
	}
	if t, ok := policy.Target(session); ok {
		f.Caller.Channel, f.Caller.To, f.Caller.AccountID, f.Caller.ThreadID = t.Channel, t.To, t.AccountID, t.ThreadID
		f.Target = t
	}
	if q.Target != nil {
		f.Target = *q.Target
	}
	switch {
	case policy.Deliverable(f.Target):
		f.Deliver = send.Deliver(s.Keys, session, f.Target)
	case q.Target != nil:
		f.Deliver = abi.NewError(abi.NotFound, "nothing can be delivered to this target")
	default:
		f.Deliver = abi.NewError(abi.NotFound, "the session has no channel to which something can be delivered")
	}
	return f, nil
}

// agentOf returns the agent of a session: the agent in the key or, for the one session
// of the global scope, the agent of its row, or else the default agent.
func agentOf(s *abi.Session, keys sessionkey.Settings) (string, *abi.Error) {
	if err := sessionkey.Check(s.Key); err != nil {
		return "", abi.NewError(abi.InvalidArgs, "session.key "+err.Error())
	}
	agent, _, ok := sessionkey.Split(s.Key)
	if !ok {
		agent = s.AgentID
		if agent == "" {
			agent = keys.Agent()
		}
		ok = s.Key == sessionkey.Global || s.Key == sessionkey.Unknown
	}
	if id, err := sessionkey.AgentID(agent); !ok || err != nil || id != agent {
		return "", abi.NewError(abi.InvalidArgs, "session.key is not canonical: it must be agent:<agentId>:<rest> or global")
	}
	return agent, nil
}
