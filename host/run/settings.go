package run

import (
	"cmp"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/route"
	"github.com/parley-wasm/parley/abi/sessionkey"
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

// limit returns how long a run may take, all attempts together; 0 is no limit.
func limit(c *config.Config, r *store.Run) time.Duration {
	return time.Duration(cmp.Or(r.TimeoutSeconds, c.Runs.TimeoutSeconds)) * time.Second
}

// settingsOf returns the agent's settings, empty ones if it is not configured.
func settingsOf(c *config.Config, agentID string) config.Agent {
	for _, a := range c.Agents.List {
		if a.ID == agentID {
			return a
		}
	}
	return config.Agent{ID: agentID}
}

// modelOf returns the model that a run in a session is to use.
func modelOf(c *config.Config, r *store.Run, s *abi.Session) string {
	runner := cmp.Or(c.Agents.RunnerOf(r.AgentID), &config.Runner{})
	return cmp.Or(r.Model, s.ModelOverride, settingsOf(c, r.AgentID).Model, runner.Model, c.Agents.Model)
}

// callerOf returns whom the calls of a run come from. That it is a child's, and that
// it is sandboxed, follow from its session, whoever sent the message.
func callerOf(c *config.Config, r *store.Run, s *abi.Session) abi.Caller {
	t := route.Context(s)
	return abi.Caller{
		SessionKey: r.SessionKey, AgentID: r.AgentID,
		Channel: t.Channel, To: t.To, AccountID: t.AccountID, ThreadID: t.ThreadID,
		Sandboxed: s.Sandboxed || c.Sandboxes(r.AgentID, r.SessionKey),
		Depth:     depthOf(s), Hops: r.Hops, RunID: r.ID,
	}
}

// depthOf returns 1 for a child session (S5.2).
func depthOf(s *abi.Session) int {
	if s.SpawnedBy != "" || sessionkey.IsChild(s.Key) {
		return 1
	}
	return 0
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
