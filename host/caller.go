package host

import (
	"context"
	"errors"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/policy"
)

// complete adds to a caller what its session says of it: whether it is held to the
// sandbox, whether it is a child, and where what it is told goes (S9). It is the
// same for every way in: a child that speaks over HTTP is the child that an agent
// speaks for.
func (h *Host) completeCaller(ctx context.Context, c abi.Caller) (_ abi.Caller, err error) {
	if c.Operator {
		return c, nil
	}
	c.Sandboxed = c.Sandboxed || h.Config().Sandboxes(c.AgentID, c.SessionKey)
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
