package step

import (
	"context"
	"fmt"
	"slices"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/host/store"
)

// createEffect creates a child session. It also creates the parent session if it is
// not stored yet, because the child's report is delivered to the parent.
type createEffect struct {
	session   abi.Session
	parent    abi.Session // empty key: the caller is the operator
	maxActive int         // 0: no limit
}

func (f *functions) create(ctx context.Context, r *request) ([]byte, error) {
	q, err := r.create()
	if err != nil {
		return nil, err
	}
	caller := f.flow.Caller
	switch {
	case caller.Depth > 0:
		return nil, abi.NewError(abi.Forbidden, "store.create: the caller is a child itself, and children cannot spawn children")
	case q.AgentID != caller.AgentID && f.flow.Agents != nil && !slices.Contains(f.flow.Agents, q.AgentID):
		return nil, abi.NewError(abi.NotFound, "store.create: agent "+q.AgentID+" is not configured")
	}
	if _, err := f.openSnapshot(ctx); err != nil {
		return nil, err
	}
	key := sessionkey.ChildOf(q.AgentID, f.newUUID("child"))
	e := &createEffect{maxActive: minLimit(q.MaxActive, f.flow.MaxChildren), session: abi.Session{
		Key: key, AgentID: q.AgentID, Kind: sessionkey.Kind(key), SessionID: f.newUUID("session"), UpdatedAt: f.flow.Now,
		Label: q.Label, ModelOverride: q.Model, ThinkingLevel: q.ThinkingLevel,
		SpawnedBy: caller.SessionKey, Sandboxed: caller.Sandboxed,
	}}
	if caller.SessionKey != "" {
		e.parent = abi.Session{
			Key: caller.SessionKey, Kind: sessionkey.Kind(caller.SessionKey), SessionID: f.newUUID("parent"), UpdatedAt: f.flow.Now,
		}
		e.parent.AgentID = f.agentOf(&e.parent)
	}
	if located, ok := f.runner.Store.(store.Located); ok {
		e.session.TranscriptPath = located.TranscriptPath(e.session.SessionID)
	}
	active, err := f.durable.ActiveChildren(ctx, caller.SessionKey)
	if err != nil {
		return nil, err
	}
	for _, other := range f.effects { // the step's other new children are active too
		if _, ok := other.(*createEffect); ok {
			active++
		}
	}
	if refusal := e.refuse(active); refusal != nil {
		return nil, refusal
	}
	f.effects = append(f.effects, e)
	return abi.AppendReply(nil, &abi.CreateReply{SessionKey: e.session.Key, SessionID: e.session.SessionID}), nil
}

// refuse returns why no further child can be created, or nil. The operator has no
// session and no limit.
func (e *createEffect) refuse(active int) error {
	if e.session.SpawnedBy == "" || e.maxActive == 0 || active < e.maxActive {
		return nil
	}
	return abi.NewError(abi.Forbidden, fmt.Sprintf("the session has %d children at work", active))
}

func (e *createEffect) apply(tx store.Tx) error {
	active, err := tx.ActiveChildren(e.session.SpawnedBy)
	if err != nil {
		return err
	}
	if refusal := e.refuse(active); refusal != nil {
		return &abi.Error{Code: abi.Conflict, Message: "step: " + refusal.Error(), Cause: refusal}
	}
	if e.parent.Key != "" {
		parent, err := tx.Session(e.parent.Key)
		if err == nil && parent == nil {
			err = tx.PutSession(&e.parent)
		}
		if err != nil {
			return err
		}
	}
	return tx.PutSession(&e.session)
}

// minLimit returns the smaller of two limits, where 0 means no limit.
func minLimit(a, b int) int {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// queuesFirstRun reports whether the step queues the first run of a child.
func (f *functions) queuesFirstRun(key string) bool {
	return slices.ContainsFunc(f.effects, func(e effect) bool {
		r, ok := e.(*runEffect)
		return ok && r.run.SessionKey == key && r.run.Group == abi.GroupSubagent
	})
}

// created returns the session with this key if the step creates it, or nil.
func (f *functions) created(key string) *abi.Session {
	for _, e := range f.effects {
		if c, ok := e.(*createEffect); ok && c.session.Key == key {
			return &c.session
		}
	}
	return nil
}
