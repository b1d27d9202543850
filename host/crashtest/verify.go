package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/sqlite"
)

// tally adds up what was found.
type tally struct {
	kills       int
	stops       int
	between     int // of both, those between a post and its record
	exchanges   int
	interrupted int // runs that ended as interrupted, with all their attempts used
	attempts    int // more than one
	reposts     int // posts of a text beyond the first
	repeats     int // messages that a reader sees beyond the first
	problems    []string
}

func (t *tally) fail(format string, args ...any) {
	t.problems = append(t.problems, fmt.Sprintf(format, args...))
}

func (t *tally) add(o *tally) {
	t.kills += o.kills
	t.stops += o.stops
	t.between += o.between
	t.exchanges += o.exchanges
	t.interrupted += o.interrupted
	t.attempts += o.attempts
	t.reposts += o.reposts
	t.repeats += o.repeats
	t.problems = append(t.problems, o.problems...)
}

// verifyFlow looks at one exchange in the store and outside: every message, turn and
// announce in its right final state, once.
func (t *tally) verifyFlow(ctx context.Context, db *sqlite.DB, f *store.Flow, o *outside, receiver, tag string, maxAttempts int) error {
	t.exchanges++
	view, err := db.View(ctx)
	if err != nil {
		return err
	}
	defer view.Close()
	runs, err := view.Runs(ctx, &store.Filter{FlowID: f.ID, Limit: 100})
	if err != nil {
		return err
	}
	slices.Reverse(runs)
	deliveries, err := view.Deliveries(ctx, &store.Filter{FlowID: f.ID})
	if err != nil {
		return err
	}
	if f.Status != store.FlowDone {
		t.fail("%s: the flow is %s at step %d: %s %s", tag, f.Status, f.Step, f.Note, f.Error)
		return nil
	}
	wholesome := true
	for _, r := range runs {
		if r.Attempt > 1 {
			t.attempts++
		}
		messages, err := view.RunMessages(ctx, r.ID)
		if err != nil {
			return err
		}
		users, answers := 0, 0
		for _, m := range messages {
			switch gjson.GetBytes(m, "role").Str {
			case "user":
				users++
			case "assistant":
				answers++
			}
		}
		switch {
		case r.Attempt > maxAttempts:
			t.fail("%s: run %s had %d attempts", tag, r.ID, r.Attempt)
		case r.Status == abi.RunDone && users == 1 && answers == 1:
		case r.Status == abi.RunFailed && users == 1 && answers == 0 && r.Attempt == maxAttempts:
			t.interrupted++
			wholesome = false
		default:
			t.fail("%s: run %s is %s after %d attempts with %d user and %d assistant messages: %s", tag, r.ID, r.Status, r.Attempt, users, answers, r.Error)
			wholesome = false
		}
	}
	if !wholesome {
		return nil
	}
	// Each step starts at most one run or delivery, so their number says that no
	// step was taken twice.
	want := []string{"r1 " + tag, "r2 " + tag, "r3 " + tag, "a " + tag}
	var got []string
	for _, r := range runs {
		got = append(got, r.Reply)
	}
	if !slices.Equal(got, want) || f.Step != len(want)+1 {
		t.fail("%s: %d steps with the replies %q, want %d with %q", tag, f.Step, got, len(want)+1, want)
	}
	if reply := gjson.GetBytes(f.Answer, "reply").Str; reply != want[0] && gjson.GetBytes(f.Answer, "status").Str != "timeout" {
		t.fail("%s: the caller's answer is %s", tag, f.Answer)
	}
	if len(deliveries) != 1 || deliveries[0].Status != store.DeliveryDelivered {
		t.fail("%s: %d deliveries, want one that was delivered", tag, len(deliveries))
	}
	arrived, accepted := o.posts(receiver, "a "+tag)
	if accepted == 0 {
		t.fail("%s: the announce never arrived at %s", tag, receiver)
	}
	t.reposts += max(arrived-1, 0)
	t.repeats += max(accepted-1, 0)
	return nil
}
