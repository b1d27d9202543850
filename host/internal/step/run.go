package step

import (
	"context"
	"fmt"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonappend"
	"github.com/parley-wasm/parley/abi/policy"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host/internal/work"
	"github.com/parley-wasm/parley/host/store"
)

// runEffect queues a run.
type runEffect struct {
	run     store.Run
	receive func(*abi.Session) error
}

func (f *functions) run(ctx context.Context, r *request) ([]byte, error) {
	q, err := r.run()
	if err != nil {
		return nil, err
	}
	view, err := f.openSnapshot(ctx)
	if err != nil {
		return nil, err
	}
	if f.flow.Caller.Hops >= abi.MaxHops {
		return nil, abi.NewError(abi.Forbidden, fmt.Sprintf("agent.run: the chain of flows that led to this call has the maximum length of %d", abi.MaxHops))
	}
	// Send policy does not apply to a session that is created with its first run
	// (S5.2).
	e, session := &runEffect{}, f.created(q.SessionKey)
	switch {
	case session != nil:
	case q.Group == abi.GroupSubagent:
		return nil, abi.NewError(abi.InvalidArgs, "agent.run: group "+q.Group+" is for the first run of a session that this step creates")
	default:
		e.receive = f.flow.Receive
		if session, err = view.Get(ctx, q.SessionKey); err != nil {
			return nil, err
		}
	}
	if refusal := e.refuse(q.SessionKey, session); refusal != nil {
		return nil, refusal
	}
	if q.Source == "" {
		q.Source = f.flow.Caller.SessionKey
	}
	if q.Source != "" && !f.isParticipant(q.Source) {
		return nil, abi.NewError(abi.Forbidden, "agent.run: source "+q.Source+" takes no part in this flow")
	}
	var source *abi.Session
	if q.Source != "" {
		if source, err = view.Get(ctx, q.Source); err != nil {
			return nil, err
		}
	}
	caller := *f.flow.Caller
	caller.RunID = ""
	e.run = store.Run{
		ID: f.newID("r_"), SessionKey: session.Key, AgentID: f.agentOf(session), Group: q.Group,
		FlowID: f.flow.ID, Scope: store.ScopeOf(&caller),
		Message: q.Message, Provenance: f.provenance(q.Source, source), Context: q.Context,
		NoTools: q.NoTools, TimeoutSeconds: q.TimeoutSeconds,
		Hops:   caller.Hops + 1,
		Status: abi.RunQueued, QueuedAt: f.flow.Now,
	}
	if q.Group == abi.GroupSubagent {
		e.run.SpawnedBy = session.SpawnedBy
	}
	// A run that a sandboxed caller starts in its own session is sandboxed too.
	// Otherwise the caller could leave the sandbox by sending itself a message.
	e.run.Sandboxed = caller.Sandboxed && session.Key == caller.SessionKey
	f.effects = append(f.effects, e)
	return abi.AppendReply(nil, &abi.RunReply{RunID: e.run.ID}), nil
}

// refuse returns why no run can be queued in the session, or nil.
func (e *runEffect) refuse(key string, s *abi.Session) error {
	switch {
	case s == nil:
		return abi.NewError(abi.NotFound, "session "+key+" does not exist")
	case s.ArchivedAt != 0:
		return abi.NewError(abi.NotFound, "session "+key+" is archived")
	case e.receive == nil:
		return nil
	}
	return e.receive(s)
}

func (e *runEffect) apply(tx store.Tx) error {
	s, err := tx.Session(e.run.SessionKey)
	if err != nil {
		return err
	}
	if refusal := e.refuse(e.run.SessionKey, s); refusal != nil {
		return &abi.Error{Code: abi.Conflict, Message: "step: " + refusal.Error(), Cause: refusal}
	}
	run := e.run // a copy: PutRun sets Seq, and apply may be called again
	return work.QueueRun(tx, &run)
}

// agentOf returns the agent of a session. The global session belongs to the default
// agent (S1.3).
func (f *functions) agentOf(s *abi.Session) string {
	if id, _, ok := sessionkey.Split(s.Key); ok {
		return id
	}
	return f.flow.Keys.Agent()
}

// provenance returns the user message's provenance (S4.5). The plugin only chooses
// which of the flow's sessions is the source; the host sets the other members.
func (f *functions) provenance(key string, source *abi.Session) []byte {
	o := jsonappend.Open(nil)
	o.String("kind", "inter_session")
	if key != "" {
		channel := policy.ChannelUnknown
		switch {
		case source != nil:
			channel = policy.Channel(source, f.flow.Keys.KindOf(key))
		case f.flow.Caller.Channel != "":
			channel = f.flow.Caller.Channel
		}
		if key == sessionkey.Global {
			key = sessionkey.Main
		}
		o.String("sourceSessionKey", key)
		o.String("sourceChannel", channel)
	}
	o.String("sourceTool", f.flow.Tool)
	return o.Close()
}
