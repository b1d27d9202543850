package main

import (
	"fmt"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

// send is a sessions_send with two reply turns and an announce.
type send struct {
	tag      string
	from     string
	to       string
	receiver string // the channel of the session that it goes to
}

var _ call = (*send)(nil)

func (c *send) caller() string { return c.from }
func (c *send) tool() string   { return abi.ToolSend }

func (c *send) args() map[string]any {
	return map[string]any{"sessionKey": c.to, "message": "m " + c.tag, "timeoutSeconds": 60}
}

func (c *send) accepted(answer gjson.Result) (bool, error) {
	switch answer.Get("status").Str {
	case "ok", "timeout", "error":
		return true, nil
	}
	return false, fmt.Errorf("answered %s", answer.Raw)
}

// verify looks for every message, turn and announce in its right final state,
// once.
func (c *send) verify(t *tally, s *story, o *outside) {
	whole := true
	for _, r := range s.runs {
		whole = t.ended(s, r, abi.RunDone) && whole
	}
	if !whole { // what follows depends on which run was interrupted
		for _, d := range s.deliveries {
			o.posts(c.receiver, d.Text)
		}
		return
	}
	f := s.flow
	// Each step starts at most one run or delivery, so their number says that no
	// step was taken twice.
	want := []string{"r1 " + c.tag, "r2 " + c.tag, "r3 " + c.tag, "a " + c.tag}
	var got []string
	for _, r := range s.runs {
		got = append(got, r.Reply)
	}
	if !slices.Equal(got, want) || f.Step != len(want)+1 {
		t.fail("%s: %d steps with the replies %q, want %d with %q", c.tag, f.Step, got, len(want)+1, want)
	}
	if reply := gjson.GetBytes(f.Answer, "reply").Str; reply != want[0] && gjson.GetBytes(f.Answer, "status").Str != "timeout" {
		t.fail("%s: the caller's answer is %s", c.tag, f.Answer)
	}
	if len(s.deliveries) != 1 || s.deliveries[0].Status != store.DeliveryDelivered {
		t.fail("%s: %d deliveries, want one that was delivered", c.tag, len(s.deliveries))
	}
	t.arrived(s, o, c.receiver, "a "+c.tag)
}
