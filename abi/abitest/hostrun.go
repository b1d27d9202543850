package abitest

import (
	"fmt"
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

// hostRun is one run of an agent.
type hostRun struct {
	RunOutcome
	id        string
	before    bool
	deliver   bool // the reply goes to the session's channel
	startedAt int64
	endedAt   int64
	calls     map[string]int // equal calls of this attempt, by tool and arguments
}

func (r *hostRun) ended() bool { return r.endedAt != 0 }

func (r *hostRun) abi() *abi.Run {
	return &abi.Run{ID: r.id, Status: r.Status, Reply: r.Reply, Error: r.Error, StartedAt: r.startedAt, EndedAt: r.endedAt}
}

func (h *Host) run(id string) *hostRun {
	for _, r := range h.runs {
		if r.id == id {
			return r
		}
	}
	return nil
}

// queue adds a run behind those of its session. They are serial (S4.5).
func (h *Host) queue(r *hostRun) {
	if r.id == "" {
		r.id = h.newID("run")
	}
	r.Status = abi.RunQueued
	r.AgentID = h.settings.agentOf(r.SessionKey)
	h.runs = append(h.runs, r)
	h.plan(h.now, orderRun, func() { h.startNext(r.SessionKey) })
}

// startNext starts the first queued run of a session, unless one is running.
func (h *Host) startNext(sessionKey string) {
	for _, r := range h.runs {
		switch {
		case r.SessionKey != sessionKey || r.ended():
		case r.Status == abi.RunRunning:
			return
		default:
			h.start(r)
			return
		}
	}
}

func (h *Host) start(r *hostRun) {
	r.Status, r.startedAt = abi.RunRunning, h.now
	message := map[string]any{"role": "user", "content": []any{textBlock(r.Message)}, "timestamp": number(h.now)}
	if len(r.Provenance) > 0 {
		p, err := Parse(r.Provenance)
		if err != nil {
			panic("abitest: provenance: " + err.Error())
		}
		message["provenance"] = p
	}
	h.remember(r.SessionKey, message)
	limit := int64(r.TimeoutSeconds)
	if limit == 0 {
		limit = h.settings.runSeconds
	}
	h.plan(h.now+limit*1000, orderRun, func() {
		h.end(r, abi.RunTimeout, "", fmt.Sprintf("the run took longer than %d seconds", limit))
	})
	h.attempt(r)
}

// attempt lets the agent take its turn.
func (h *Host) attempt(r *hostRun) {
	r.Attempts++
	r.calls = map[string]int{}
	t, err := h.cast.Turn(r.SessionKey, r.id)
	if err != nil {
		h.problems = append(h.problems, err.Error())
		h.end(r, abi.RunFailed, "", err.Error())
		return
	}
	h.agent(r, t, 0)
}

// agent makes the calls of a turn from the n-th on, one after the other, and then
// takes its time.
func (h *Host) agent(r *hostRun, t *Turn, n int) {
	life := h.life
	alive := func() bool { return life == h.life && !r.ended() }
	if n < len(t.Calls) {
		c := &t.Calls[n]
		call := &Call{Tool: c.Tool, Args: c.Args, Caller: h.as(r)}
		same := digest(call)
		r.calls[same]++
		call.ID = fmt.Sprintf("%s/%s/%d", r.id, same, r.calls[same])
		h.call(call, func(a Answer) {
			if !alive() {
				return
			}
			h.problems = append(h.problems, c.Check(a)...)
			h.agent(r, t, n+1)
		})
		return
	}
	if t.Status == abi.RunTimeout {
		return // it never answers
	}
	h.plan(h.now+t.TakesMs, orderRun, func() {
		if alive() {
			h.end(r, t.Status, strings.TrimSpace(t.Reply), t.Error)
		}
	})
}

// as is who calls when a run does.
func (h *Host) as(r *hostRun) abi.Caller {
	c := abi.Caller{SessionKey: r.SessionKey, AgentID: r.AgentID, Hops: r.Hops, RunID: r.id, Sandboxed: h.settings.sandboxed(r.SessionKey, r.AgentID)}
	if s := h.session(r.SessionKey); sessionkey.IsChild(r.SessionKey) || s != nil && s.SpawnedBy != "" {
		c.Depth = 1
	}
	return c
}

// end records a run's outcome, once.
func (h *Host) end(r *hostRun, status, reply, problem string) {
	if r.ended() {
		return
	}
	r.Status, r.Reply, r.Error, r.endedAt = status, reply, problem, h.now
	if reply != "" {
		h.remember(r.SessionKey, map[string]any{"role": "assistant", "content": []any{textBlock(reply)}, "timestamp": number(h.now), "stopReason": "stop"})
	}
	if r.deliver && reply != "" {
		h.deliver(&DeliveryOutcome{SessionKey: r.SessionKey, Text: reply}, nil)
	}
	h.wakeFor(r)
	h.plan(h.now, orderRun, func() { h.startNext(r.SessionKey) })
}

// remember appends a message to a session's transcript.
func (h *Host) remember(sessionKey string, message map[string]any) {
	if s := h.stored(sessionKey); s != nil {
		s.Messages = append(s.Messages[:len(s.Messages):len(s.Messages)], Compact(message))
		s.Session.UpdatedAt = max(s.Session.UpdatedAt, h.now)
	}
}

func textBlock(s string) map[string]any { return map[string]any{"type": "text", "text": s} }
