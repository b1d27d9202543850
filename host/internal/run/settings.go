package run

import (
	"cmp"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/policy"
	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/store"
)

// slots returns how many runs of a group are executed at once; 0 is no bound.
func slots(c *config.Config, group string) int {
	switch group {
	case abi.GroupMain:
		return c.Runs.MainSlots
	case abi.GroupSubagent:
		return c.Agents.Subagents.MaxConcurrent
	}
	return 0
}

// limit returns how long a run may take, all attempts together; 0 is no limit,
// which a child's own run has unless its spawn says otherwise (S5.1).
func limit(c *config.Config, r *store.Run) time.Duration {
	if r.Group == abi.GroupSubagent {
		return time.Duration(r.TimeoutSeconds) * time.Second
	}
	return time.Duration(cmp.Or(r.TimeoutSeconds, c.Runs.TimeoutSeconds)) * time.Second
}

// modelOf returns the model that a run in a session is to use.
func modelOf(c *config.Config, r *store.Run, s *abi.Session) string {
	return cmp.Or(r.Model, s.ModelOverride, c.Agents.ModelOf(r.AgentID))
}

// callerOf returns whom the calls of a run come from. That it is a child's follows
// from its session, whoever sent the message, and that it is sandboxed too.
func callerOf(c *config.Config, r *store.Run, s *abi.Session) abi.Caller {
	t, _ := policy.Target(s)
	return abi.Caller{
		SessionKey: r.SessionKey, AgentID: r.AgentID,
		Channel: t.Channel, To: t.To, AccountID: t.AccountID, ThreadID: t.ThreadID,
		Sandboxed: r.Sandboxed || s.Sandboxed || c.Sandboxes(r.AgentID, r.SessionKey),
		Depth:     policy.Depth(s), Hops: r.Hops, RunID: r.ID,
	}
}

// priced returns usage with what it costs, if both are known.
func priced(c *config.Config, model string, u *abi.Usage) *abi.Usage {
	price, known := c.Models.Pricing[model]
	if u == nil || !known || u.Input == nil || u.Output == nil {
		return u
	}
	const million = 1e6
	cost := float64(*u.Input)/million*price.InputPerMTok + float64(*u.Output)/million*price.OutputPerMTok
	with := *u
	with.Cost = &cost
	return &with
}

// total returns all tokens of a run, or nil when they are not known.
func total(u *abi.Usage) *int64 {
	if u.Total != nil || u.Input == nil || u.Output == nil {
		return u.Total
	}
	sum := *u.Input + *u.Output
	return &sum
}
