package abi

import (
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi/jsonobject"
)

// Caller identifies the caller of a tool: a session with its agent, or the operator
// (S0.3). The host sets it from the connection's credentials or the run's token, never
// from tool arguments.
type Caller struct {
	SessionKey string `json:"sessionKey,omitempty"` // canonical; empty for the operator
	AgentID    string `json:"agentId,omitempty"`
	Channel    string `json:"channel,omitempty"`
	To         string `json:"to,omitempty"`
	AccountID  string `json:"accountId,omitempty"`
	ThreadID   string `json:"threadId,omitempty"`
	Sandboxed  bool   `json:"sandboxed"`
	Depth      int    `json:"depth"`           // 0, or 1 for a spawned child
	Hops       int    `json:"hops"`            // length of the chain of flows that led to this call (S5.6)
	RunID      string `json:"runId,omitempty"` // calling run, if any
	Operator   bool   `json:"operator,omitempty"`
	Attempt    int    `json:"-"` // number of the calling run's attempt; for the host only, not sent
}

var callerMembers = jsonobject.New(
	jsonobject.Optional("sessionKey", text, func(c *Caller) any { return &c.SessionKey }),
	jsonobject.Optional("agentId", text, func(c *Caller) any { return &c.AgentID }),
	jsonobject.Optional("channel", text, func(c *Caller) any { return &c.Channel }),
	jsonobject.Optional("to", text, func(c *Caller) any { return &c.To }),
	jsonobject.Optional("accountId", text, func(c *Caller) any { return &c.AccountID }),
	jsonobject.Optional("threadId", text, func(c *Caller) any { return &c.ThreadID }),
	jsonobject.Required("sandboxed", flag, func(c *Caller) any { return &c.Sandboxed }),
	jsonobject.Required("depth", whole, func(c *Caller) any { return &c.Depth }),
	jsonobject.Required("hops", whole, func(c *Caller) any { return &c.Hops }),
	jsonobject.Optional("runId", text, func(c *Caller) any { return &c.RunID }),
	jsonobject.Optional("operator", flag, func(c *Caller) any { return &c.Operator }),
)

// ReadJSON reads the JSON that AppendJSON writes.
func (c *Caller) ReadJSON(v gjson.Result, mode jsonobject.Mode) *jsonobject.Problem {
	return callerMembers.Read(v, c, mode)
}

// AppendJSON appends the caller's JSON.
func (c *Caller) AppendJSON(b []byte) []byte { return callerMembers.Append(b, c) }
