package host

import (
	"context"
	"errors"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/policy"
)

// completeCaller adds the properties of the caller's session: whether it is sandboxed,
// whether it is a child, and the destination of its deliveries (S9). They do not
// depend on the transport: a child that calls over HTTP has the same properties as
// the child's agent.
func (h *Host) completeCaller(ctx context.Context, c abi.Caller) (_ abi.Caller, err error) {
	if c.Operator {
		return c, nil
	}
	c.Sandboxed = c.Sandboxed || h.Config().Sandboxed(c.AgentID, c.SessionKey)
	c.Depth = policy.Depth(&abi.Session{Key: c.SessionKey})
	snapshot, err := h.options.Store.Snapshot(ctx)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	s, err := snapshot.Get(ctx, c.SessionKey)
	if s == nil || err != nil {
		return c, err
	}
	c.Sandboxed, c.Depth = c.Sandboxed || s.Sandboxed, policy.Depth(s)
	if t, ok := policy.Target(s); ok && c.Channel == "" && c.To == "" {
		c.Channel, c.To, c.AccountID, c.ThreadID = t.Channel, t.To, t.AccountID, t.ThreadID
	}
	return c, nil
}
