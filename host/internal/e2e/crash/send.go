package main

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/e2e"
	"github.com/parley-wasm/parley/host/store"
)

// send is a sessions_send, followed by two reply turns and an announce.
type send struct {
	tag     string
	from    string
	to      string
	channel string // of the target session
}

var _ call = (*send)(nil)

func (c *send) request() *e2e.Request {
	args, _ := json.Marshal(map[string]any{"sessionKey": c.to, "message": "m " + c.tag, "timeoutSeconds": 60})
	return &e2e.Request{Tool: abi.ToolSend, SessionKey: c.from, Args: args}
}

func (c *send) accepted(answer gjson.Result) (bool, error) {
	switch answer.Get("status").Str {
	case "ok", "timeout", "error":
		return true, nil
	}
	return false, fmt.Errorf("unexpected answer: %s", answer.Raw)
}

// verify checks that every message, turn and announce is in its final state exactly once.
func (c *send) verify(v *verification) {
	if slices.ContainsFunc(v.Runs, func(r *store.Run) bool { return r.Status != abi.RunDone }) {
		// The later runs depend on the interrupted one, so their contents are not checked.
		for _, r := range v.Runs {
			v.checkEnd(r, abi.RunDone)
		}
		for _, d := range v.Deliveries {
			v.peers.Posts(c.channel, d.Text)
		}
		return
	}
	turn := func(session, message, reply string) expectedRun {
		return expectedRun{
			session: session, group: abi.GroupNested, message: exactly(message + " " + c.tag),
			status: abi.RunDone, reply: reply + " " + c.tag,
		}
	}
	want := &expectation{
		runs:     []expectedRun{turn(c.to, "m", "r1"), turn(c.from, "r1", "r2"), turn(c.to, "r2", "r3"), turn(c.to, "", "a")},
		delivery: exactly("a " + c.tag), from: c.to, channel: c.channel,
	}
	announce := &want.runs[3]
	announce.message, announce.noTools = nil, true
	v.match(want)
	answer := gjson.ParseBytes(v.Flow.Answer)
	if answer.Get("reply").Str != want.runs[0].reply && answer.Get("status").Str != "timeout" {
		v.Fail("the caller's answer is %s", answer.Raw)
	}
}
