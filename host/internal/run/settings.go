package run

import (
	"cmp"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/policy"
	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/store"
)

// slots returns the maximum number of concurrent runs of a group; 0 means no limit.
func slots(c *config.Config, group string) int {
	switch group {
	case abi.GroupMain:
		return c.Runs.MainSlots
	case abi.GroupSubagent:
		return c.Agents.Subagents.MaxConcurrent
	}
	return 0
}

// limit returns the time limit of a run over all attempts; 0 means no limit, which is
// the default for the run of a child (S5.1).
func limit(c *config.Config, r *store.Run) time.Duration {
	if r.Group == abi.GroupSubagent {
		return time.Duration(r.TimeoutSeconds) * time.Second
	}
	return time.Duration(cmp.Or(r.TimeoutSeconds, c.Runs.TimeoutSeconds)) * time.Second
}

// modelOf returns the model that a run must use.
func modelOf(c *config.Config, r *store.Run, s *abi.Session) string {
	return cmp.Or(r.Model, s.ModelOverride, c.Agents.ModelOf(r.AgentID))
}

// callerOf returns the caller of a run's tool calls. Its depth and sandboxing depend
// on the session, not on the sender of the message.
func callerOf(c *config.Config, r *store.Run, s *abi.Session) abi.Caller {
	t, _ := policy.Target(s)
	return abi.Caller{
		SessionKey: r.SessionKey, AgentID: r.AgentID,
		Channel: t.Channel, To: t.To, AccountID: t.AccountID, ThreadID: t.ThreadID,
		Sandboxed: r.Sandboxed || s.Sandboxed || c.Sandboxed(r.AgentID, r.SessionKey),
		Depth:     policy.Depth(s), Hops: r.Hops, RunID: r.ID,
	}
}

// withCost returns usage with its cost, if the price and the tokens are known.
func withCost(c *config.Config, model string, u *abi.Usage) *abi.Usage {
	price, known := c.Models.Pricing[model]
	if u == nil || !known || u.Input == nil || u.Output == nil {
		return u
	}
	const million = 1e6
	cost := float64(*u.Input)/million*price.InputPerMTok + float64(*u.Output)/million*price.OutputPerMTok
	priced := *u
	priced.Cost = &cost
	return &priced
}

// total returns the total number of tokens, or nil if it is unknown.
func total(u *abi.Usage) *int64 {
	if u.Total != nil || u.Input == nil || u.Output == nil {
		return u.Total
	}
	sum := *u.Input + *u.Output
	return &sum
}
