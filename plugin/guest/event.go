package guest

import (
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/plugin/internal/render"
)

// readEvent reads what woke a flow. An event that says less than its type
// promises is malformed: taken for something else, it would end a flow that is
// to go on.
func readEvent(v gjson.Result) (*abi.Event, *abi.Error) {
	if v.Type == gjson.Null {
		return nil, nil
	}
	if bad := check(v, "event", eventMembers); bad != nil {
		return nil, bad
	}
	e := &abi.Event{Type: v.Get("type").Str, At: integer(v.Get("at"))}
	switch e.Type {
	case abi.EventTime, abi.EventCancel:
	case abi.EventRun:
		run := v.Get("run")
		if bad := check(run, "event.run", runMembers); bad != nil {
			return nil, bad
		}
		if usage := run.Get("usage"); usage.Exists() {
			if bad := check(usage, "event.run.usage", usageMembers); bad != nil {
				return nil, bad
			}
		}
		e.Run = &abi.Run{}
		readRun(run, e.Run)
		if e.Run.ID == "" || !Ended(e.Run) {
			return nil, badInput("event.run must be a run that has ended, with its id")
		}
	default:
		return nil, badInput("event.type " + render.Quote(e.Type) + " is none of run, time, cancel")
	}
	return e, nil
}

// Ended reports whether a run is in one of its final states.
func Ended(r *abi.Run) bool {
	switch r.Status {
	case abi.RunDone, abi.RunFailed, abi.RunKilled, abi.RunTimeout:
		return true
	}
	return false
}

// Outcome says how a run ended that is not done.
func Outcome(status string) string {
	switch status {
	case abi.RunKilled:
		return "was aborted"
	case abi.RunTimeout:
		return "hit its time limit"
	}
	return "failed"
}

func readRun(v gjson.Result, r *abi.Run) {
	v.ForEach(func(name, v gjson.Result) bool {
		switch name.Str {
		case "id":
			r.ID = v.Str
		case "status":
			r.Status = v.Str
		case "reply":
			r.Reply = v.Str
		case "error":
			r.Error = v.Str
		case "model":
			r.Model = v.Str
		case "usage":
			r.Usage = readUsage(v)
		case "startedAt":
			r.StartedAt = integer(v)
		case "endedAt":
			r.EndedAt = integer(v)
		}
		return true
	})
}

func readUsage(v gjson.Result) *abi.Usage {
	if !v.IsObject() {
		return nil
	}
	u := &abi.Usage{Input: optInt(v.Get("input")), Output: optInt(v.Get("output")), Total: optInt(v.Get("total"))}
	if cost := v.Get("cost"); cost.Type == gjson.Number {
		u.Cost = &cost.Num
	}
	return u
}
