package refhost

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/conformance/vector"
	"github.com/parley-wasm/parley/abi/internal/jsonvalue"
)

// hostRun is one run of an agent.
type hostRun struct {
	vector.RunOutcome
	id        string
	before    bool // a run of Vector.Before
	deliver   bool // the reply is posted to the session's channel
	spawnedBy string
	sandboxed bool   // even if the session is not
	model     string // as the agent reported it
	usage     *abi.Usage
	startedAt int64
	endedAt   int64
	calls     map[string]int // number of equal calls in this attempt, by digest
}

func (r *hostRun) ended() bool { return r.endedAt != 0 }

func (r *hostRun) abi() *abi.Run {
	return &abi.Run{ID: r.id, Status: r.Status, Reply: truncate(r.Reply), Error: truncate(r.Error), Model: r.model, Usage: r.usage, StartedAt: r.startedAt, EndedAt: r.endedAt}
}

// truncate shortens a text to abi.MaxText bytes.
func truncate(text string) string {
	const suffix = "\n…(truncated)…"
	if len(text) <= abi.MaxText {
		return text
	}
	return strings.ToValidUTF8(text[:abi.MaxText-len(suffix)], "") + suffix
}

func (h *Host) run(id string) *hostRun {
	for _, r := range h.runs {
		if r.id == id {
			return r
		}
	}
	return nil
}

// queue appends a run to the queue of its session, whose runs are serial (S4.5).
func (h *Host) queue(r *hostRun) {
	if r.id == "" {
		r.id = h.newID("run")
	}
	r.Status = abi.RunQueued
	r.AgentID = h.settings.agentOf(r.SessionKey)
	h.runs = append(h.runs, r)
	h.schedule(h.now, orderRun, func() { h.startNext(r.SessionKey) })
}

// startNext starts the first queued run of a session, unless one is running.
func (h *Host) startNext(sessionKey string) {
	for _, r := range h.runs {
		switch {
		case r.SessionKey != sessionKey || r.ended():
		case r.Status == abi.RunRunning || r.Group == abi.GroupSubagent && h.runningChildren() >= h.settings.maxRunningChildren:
			return
		case h.session(r.SessionKey) == nil || h.session(r.SessionKey).ArchivedAt != 0:
			h.end(r, abi.RunFailed, "", "session "+r.SessionKey+" was deleted or archived before its turn")
			return
		default:
			h.start(r)
			return
		}
	}
}

// runningChildren returns the number of running runs of child sessions (S5.3).
func (h *Host) runningChildren() (n int) {
	for _, r := range h.runs {
		if r.Group == abi.GroupSubagent && r.Status == abi.RunRunning {
			n++
		}
	}
	return n
}

// activeChildren returns the number of a session's active children (S5.2). A child is
// active until its first run has ended.
func (h *Host) activeChildren(parent string) (n int) {
	for _, r := range h.runs {
		if r.spawnedBy == parent && parent != "" && !r.ended() {
			n++
		}
	}
	return n
}

// busy reports whether the session has a run that has not ended.
func (h *Host) busy(sessionKey string) bool {
	return slices.ContainsFunc(h.runs, func(r *hostRun) bool { return r.SessionKey == sessionKey && !r.ended() })
}

func (h *Host) start(r *hostRun) {
	r.Status, r.startedAt = abi.RunRunning, h.now
	message := map[string]any{"role": "user", "content": []any{vector.TextBlock(r.Message)}, "timestamp": jsonvalue.Number(h.now)}
	if len(r.Provenance) > 0 {
		p, err := jsonvalue.Parse(r.Provenance)
		if err != nil {
			panic("refhost: provenance: " + err.Error())
		}
		message["provenance"] = p
	}
	h.appendMessage(r.SessionKey, message)
	h.recordStatus(r)
	limit := int64(r.TimeoutSeconds)
	if limit == 0 && r.Group != abi.GroupSubagent {
		limit = h.settings.runSeconds
	}
	if limit > 0 {
		h.schedule(h.now+limit*1000, orderRun, func() {
			h.end(r, abi.RunTimeout, "", fmt.Sprintf("the run took longer than its limit of %s", time.Duration(limit)*time.Second))
		})
	}
	h.attempt(r)
}

// attempt starts the agent's turn.
func (h *Host) attempt(r *hostRun) {
	r.Attempts++
	r.calls = map[string]int{}
	t, err := h.agents.Turn(r.SessionKey, r.id)
	if err != nil {
		h.problems = append(h.problems, err.Error())
		h.end(r, abi.RunFailed, "", err.Error())
		return
	}
	h.continueTurn(r, t, 0)
}

// continueTurn makes the calls of a turn in sequence, starting with call n (from 0), and
// then schedules the end of the turn.
func (h *Host) continueTurn(r *hostRun, t *vector.Turn, n int) {
	restarts := h.restarts
	active := func() bool { return restarts == h.restarts && !r.ended() }
	if n < len(t.Calls) {
		c := &t.Calls[n]
		call := &vector.Call{Tool: c.Tool, Args: c.Args, Caller: h.caller(r)}
		same := digest(call)
		r.calls[same]++
		call.ID = fmt.Sprintf("%s/%s/%d", r.id, same, r.calls[same])
		h.call(call, func(a vector.Answer) {
			if !active() {
				return
			}
			h.problems = append(h.problems, c.Check(a)...)
			h.continueTurn(r, t, n+1)
		})
		return
	}
	if t.Status == abi.RunTimeout {
		return // the agent never answers
	}
	h.schedule(h.now+t.TakesMs, orderRun, func() {
		if !active() {
			return
		}
		if message := t.ToolResultMessage(h.now); message != nil {
			v, _ := jsonvalue.Parse(message)
			h.appendMessage(r.SessionKey, v.(map[string]any))
		}
		if t.Status == abi.RunDone {
			r.model, r.usage = t.Model, h.settings.withCost(t.Model, t.Usage)
		}
		h.end(r, t.Status, strings.TrimSpace(t.Reply), t.Error)
	})
}

// recordStatus copies the status, model and tokens of a run to its session, except for
// an announce, which reports on another run (S5.5).
func (h *Host) recordStatus(r *hostRun) {
	s := h.session(r.SessionKey)
	if s == nil || r.NoTools {
		return
	}
	s.Status = r.Status
	if r.model != "" {
		s.Model = r.model
	}
	u := r.usage
	if u == nil {
		return
	}
	if u.Input != nil {
		s.ContextTokens = u.Input
	}
	switch {
	case u.Total != nil:
		s.TotalTokens = u.Total
	case u.Input != nil && u.Output != nil:
		sum := *u.Input + *u.Output
		s.TotalTokens = &sum
	}
}

// caller returns the caller of a run's tool calls.
func (h *Host) caller(r *hostRun) abi.Caller {
	return abi.Caller{SessionKey: r.SessionKey, AgentID: r.AgentID, Hops: r.Hops, RunID: r.id, Sandboxed: r.sandboxed}
}

// end records a run's outcome. Later calls have no effect.
func (h *Host) end(r *hostRun, status, reply, problem string) {
	if r.ended() {
		return
	}
	r.Status, r.Reply, r.Error, r.endedAt = status, reply, problem, h.now
	if reply != "" {
		h.appendMessage(r.SessionKey, map[string]any{"role": "assistant", "content": []any{vector.TextBlock(reply)}, "timestamp": jsonvalue.Number(h.now), "stopReason": "stop"})
	}
	if r.deliver && reply != "" {
		h.deliver(&vector.DeliveryOutcome{SessionKey: r.SessionKey, Text: reply}, nil)
	}
	h.recordStatus(r)
	h.wakeFor(r)
	h.schedule(h.now, orderRun, func() {
		h.startNext(r.SessionKey)
		for _, queued := range h.runs {
			if queued.Group == abi.GroupSubagent && queued.Status == abi.RunQueued {
				h.startNext(queued.SessionKey)
			}
		}
	})
}

// appendMessage appends a message to a session's transcript.
func (h *Host) appendMessage(sessionKey string, message map[string]any) {
	if s := h.stored(sessionKey); s != nil {
		s.Messages = append(s.Messages[:len(s.Messages):len(s.Messages)], jsonvalue.Compact(message))
		s.Session.UpdatedAt = max(s.Session.UpdatedAt, h.now)
	}
}
