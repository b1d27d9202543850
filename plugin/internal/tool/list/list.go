// Package list implements the tool sessions_list (S2): it lists the sessions that the
// caller may see, newest first, one page per call.
package list

import (
	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/schema"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/plugin/guest"
	"github.com/parley-wasm/parley/plugin/internal/args"
	"github.com/parley-wasm/parley/plugin/rules/settings"
	"github.com/parley-wasm/parley/plugin/rules/visibility"
)

// Bounds of S2.1.
const (
	defaultLimit = 50
	maxLimit     = 200
	maxMessages  = abi.MaxListMessages
)

// Tool describes sessions_list.
func Tool() abi.Tool {
	return abi.Tool{
		Name: abi.ToolList,
		Description: "List the sessions (conversations) that you may see, newest first, with their key, kind, channel and state; filter by kind, agent, label, text or recent activity. " +
			"With messageLimit, each session carries its newest messages. Use a row's key or sessionId with sessions_history. " +
			"When nextCursor is present, call again with cursor set to it for more.",
		InputSchema:  schema.ListInput,
		OutputSchema: schema.ListOutput,
		ReadOnly:     true,
		Needs:        []string{"session", "tools", "agents"},
	}
}

// request reads the arguments into a request to the host.
func request(doc string, now int64) (*abi.ListRequest, error) {
	a := args.Read(doc)
	q := &abi.ListRequest{}
	q.Kinds = a.SubsetOf("kinds", sessionkey.Kinds)
	q.Limit = int(a.Clamped("limit", defaultLimit, 1, maxLimit))
	if minutes, given := a.AtLeast("activeMinutes", 1); given {
		q.ActiveSince = since(now, minutes)
	}
	q.Messages = int(a.Clamped("messageLimit", 0, 0, maxMessages))
	q.Label = a.String("label")
	if id := a.String("agentId"); id != "" {
		var err error
		if q.AgentID, err = sessionkey.AgentID(id); err != nil {
			a.Fail("agentId", err.Error())
		}
	}
	q.Search = a.String("search")
	q.IncludeArchived = a.Bool("includeArchived")
	if cursor := a.String("cursor"); cursor != "" {
		var ok bool
		if q.After, ok = parseCursor(cursor); !ok {
			a.Fail("cursor", "is not a cursor of sessions_list; pass a nextCursor unchanged, or leave it out to start over")
		}
	}
	return q, a.Done()
}

// since returns the time that is minutes before now, or 0, which means no bound, if that
// time is before the epoch.
func since(now, minutes int64) int64 {
	const minute = 60_000
	if minutes >= now/minute {
		return 0
	}
	return now - minutes*minute
}

// Call appends the tool's result. It fails with an *abi.Error or a *guest.Fault.
func Call(h guest.Host, in *guest.Input, dst []byte) ([]byte, error) {
	q, err := request(in.Args, in.Now)
	if err != nil {
		return dst, err
	}
	s, bad := settings.Parse(in.Config)
	if bad != nil {
		return dst, &guest.Fault{Err: bad}
	}
	v := visibility.New(s, &in.Caller)
	q.Scope, q.MainKey, q.Global = v.Scope(), s.Keys.MainKey, v.Global()

	p := newPage(v, q, dst)
	if err := p.collect(guest.NewClient(h)); err != nil {
		return dst, err
	}
	return p.close(), nil
}
