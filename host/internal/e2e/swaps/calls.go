package main

import (
	"context"
	"fmt"
	"time"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/e2e"
	"github.com/parley-wasm/parley/host/internal/storegen"
)

// callers makes the clients' calls while the plugin is swapped.
type callers struct {
	*e2e.Report
	gateway *e2e.Gateway
	builds  *timeline
}

// Counts of a report.
const (
	countCalls    = "calls"
	countIdentify = "answersOfABuild" // each from a build that was active
	countSends    = "sends"
	countAcross   = "sendsAcrossASwap" // a swap started and ended between call and answer
)

// call makes a client's nth call. Every fourth client sends, the others read.
func (c *callers) call(l *e2e.Load, client, n int) error {
	calls := []func(ctx context.Context, client, n int) error{c.identify, c.list, c.history}
	if client%4 == 3 {
		return c.send(l.Context(), client, n)
	}
	return calls[n%len(calls)](l.Context(), client, n)
}

func (c *callers) tool(ctx context.Context, tool, args string) (gjson.Result, error) {
	body, err := c.gateway.Call(ctx, tool, args)
	c.Count(countCalls, 1)
	return gjson.GetBytes(body, "result.details"), err
}

// identify requests the history of a session that does not exist, and checks that the
// answering build was active.
func (c *callers) identify(ctx context.Context, _, _ int) error {
	from := time.Now()
	r, err := c.tool(ctx, abi.ToolHistory, `{"sessionKey": "agent:main:none"}`)
	until := time.Now()
	if err != nil {
		return err
	}
	build, err := buildOf(r.Get("error").Str)
	if err == nil && !c.builds.active(build, from, until) {
		err = fmt.Errorf("build %d answered but was not active", build)
	}
	c.Count(countIdentify, 1)
	return err
}

func (c *callers) list(ctx context.Context, _, _ int) error {
	r, err := c.tool(ctx, abi.ToolList, `{"limit": 50, "messageLimit": 1}`)
	if err == nil && len(r.Get("sessions").Array()) != 50 {
		err = fmt.Errorf("want a list of 50 sessions: %.200s", r.Raw)
	}
	return err
}

func (c *callers) history(ctx context.Context, client, n int) error {
	args := fmt.Sprintf(`{"sessionKey": %q, "limit": 50, "offset": %d}`, storegen.LongKey, (client*7919+n*131)%(messages/2))
	r, err := c.tool(ctx, abi.ToolHistory, args)
	if err == nil && len(r.Get("messages").Array()) == 0 {
		err = fmt.Errorf("want a history with messages: %.200s", r.Raw)
	}
	return err
}

// send sends a message and waits for the reply.
func (c *callers) send(ctx context.Context, client, n int) error {
	text := fmt.Sprintf("message %d of client %d", n, client)
	from := time.Now()
	r, err := c.tool(ctx, abi.ToolSend, fmt.Sprintf(`{"sessionKey": %q, "message": %q, "timeoutSeconds": 120}`, target((n*7+client)%targets), text))
	if err != nil {
		return err
	}
	if r.Get("status").Str != "ok" || r.Get("reply").Str != "heard: "+text {
		return fmt.Errorf("unexpected answer to the send of %q: %.400s", text, r.Raw)
	}
	c.Count(countSends, 1)
	if c.builds.swapped(from, time.Now()) {
		c.Count(countAcross, 1)
	}
	return nil
}
