package refhost

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/conformance/vector"
	"github.com/parley-wasm/parley/abi/internal/jsonvalue"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

// States of a flow besides vector.FlowDone.
const (
	flowWaiting = "waiting"
	flowParked  = "parked"
)

// hostFlow is one call of a tool that writes.
type hostFlow struct {
	id, tool   string
	scope      string // the scope in which callID is unique (S4.4)
	callID     string
	digest     string // of tool and arguments
	caller     abi.Caller
	step       int
	acceptedAt int64
	status     string
	note       string
	delivery   string // status of its last delivery
	wait       *abi.Wait
	sessions   []string // sessions in which it started runs
	created    []string // children that it created
	answer     *vector.Answer
	waiters    []func(vector.Answer)
}

// statusText returns the flow's note and the status of its last delivery.
func (f *hostFlow) statusText() string {
	if f.delivery == "" {
		return f.note
	}
	return f.note + ": " + f.delivery
}

// complete adds the members of a caller that follow from its session.
func (h *Host) complete(c abi.Caller) abi.Caller {
	if c.Operator {
		return c
	}
	c.Sandboxed = c.Sandboxed || h.settings.sandboxed(c.SessionKey, c.AgentID)
	s := h.session(c.SessionKey)
	if s == nil {
		s = &abi.Session{Key: c.SessionKey}
	}
	c.Sandboxed = c.Sandboxed || s.Sandboxed
	if s.SpawnedBy != "" || sessionkey.IsChild(s.Key) {
		c.Depth = 1
	}
	if t, ok := targetOf(s); ok && h.session(c.SessionKey) != nil && c.Channel == "" && c.To == "" {
		c.Channel, c.To, c.AccountID, c.ThreadID = t.Channel, t.To, t.AccountID, t.ThreadID
	}
	return c
}

// call makes a tool call. It passes the answer to the callback, at once or later.
func (h *Host) call(c *vector.Call, answer func(vector.Answer)) {
	id, caller := c.ID, h.complete(c.Caller)
	if id == "" {
		id = h.newID("call")
	}
	f := &hostFlow{
		id: h.newID("flow"), tool: c.Tool, callID: id, digest: digest(c), caller: caller,
		scope: scopeOf(&caller), step: 1, acceptedAt: h.now, status: flowWaiting,
	}
	writes := false
	if t, known := h.tools[c.Tool]; known {
		writes = !t.readOnly
	}
	for _, earlier := range h.flows {
		if !writes || earlier.scope != f.scope || earlier.callID != id {
			continue
		}
		if earlier.digest != f.digest {
			answer(vector.Answer{Err: abi.NewError(abi.InvalidArgs, "the call id "+id+" was used with other arguments")})
			return
		}
		earlier.subscribe(answer)
		return
	}
	input := abi.CallInput{
		FlowID: f.id, Step: f.step, CallID: id, Now: h.now, AcceptedAt: f.acceptedAt,
		Tool: c.Tool, Args: c.Args, Caller: caller, Config: h.configOf(c.Tool),
	}
	s := &hostStep{host: h, flow: f, store: NewStore(&vector.Contents{Sessions: h.sessions}), writes: writes}
	result, err := s.run(abi.ExportCall, input.AppendJSON(nil))
	a := vector.Answer{Result: result.Result, Code: result.Code, Err: err, HostCalls: s.calls, ReplyBytes: s.bytes}
	if err != nil || result.Wait == nil && len(s.effects) == 0 {
		answer(a) // a call without effects is not recorded
		return
	}
	h.flows = append(h.flows, f)
	f.waiters = append(f.waiters, answer)
	h.commit(f, s, &result)
}

// subscribe calls answer with the flow's answer, at once if the flow has answered.
func (f *hostFlow) subscribe(answer func(vector.Answer)) {
	if f.answer != nil {
		answer(*f.answer)
		return
	}
	f.waiters = append(f.waiters, answer)
}

// commit applies the effects and the result of a step.
func (h *Host) commit(f *hostFlow, s *hostStep, r *abi.StepResult) {
	for _, effect := range s.effects {
		effect()
	}
	if r.Note != "" {
		f.note = r.Note
	}
	if f.wait = r.Wait; f.wait == nil {
		f.status = vector.FlowDone
	}
	if r.Result != nil {
		if f.answer != nil {
			h.park(f, fmt.Errorf("the flow answered a second time: %s", r.Result))
			return
		}
		f.answer = &vector.Answer{Result: r.Result, Code: r.Code, HostCalls: s.calls, ReplyBytes: s.bytes}
		for _, answer := range f.waiters {
			answer(*f.answer)
		}
		f.waiters = nil
	}
	switch step := f.step; {
	case f.wait == nil:
		if f.answer == nil {
			h.park(f, fmt.Errorf("the flow ended without an answer"))
		}
	case f.wait.Run != "" && h.run(f.wait.Run) == nil:
		h.park(f, fmt.Errorf("the flow waits for a run that does not exist"))
	case f.wait.Run != "" && h.run(f.wait.Run).ended():
		h.schedule(h.now, orderFlow, func() { h.wake(f, step) })
	case f.wait.Until != 0:
		h.schedule(f.wait.Until, orderFlow, func() { h.wake(f, step) })
	}
}

// wake resumes a flow after its wait, unless the flow has left this step. If the run has
// ended and the time is due, the run wins.
func (h *Host) wake(f *hostFlow, step int) {
	if f.step != step || f.status != flowWaiting {
		return
	}
	event := abi.Event{Type: abi.EventTime, At: h.now}
	if r := h.run(f.wait.Run); r != nil && r.ended() {
		event = abi.Event{Type: abi.EventRun, At: h.now, Run: r.abi()}
	}
	f.step++
	input := abi.ResumeInput{
		FlowID: f.id, Step: f.step, Now: h.now, AcceptedAt: f.acceptedAt, State: f.wait.State, StateVersion: f.wait.StateVersion,
		Event: &event, Caller: f.caller, Config: h.configOf(f.tool),
	}
	s := &hostStep{host: h, flow: f, store: NewStore(&vector.Contents{Sessions: h.sessions}), writes: true}
	result, err := s.run(abi.ExportResume, input.AppendJSON(nil))
	if err != nil {
		h.park(f, err)
		return
	}
	h.commit(f, s, &result)
}

// park stops a flow whose step failed, and reports a problem: no vector expects a parked
// flow.
func (h *Host) park(f *hostFlow, err error) {
	f.status, f.note = flowParked, err.Error()
	h.problems = append(h.problems, fmt.Sprintf("step %d of %s failed: %v", f.step, f.id, err))
}

// wakeFor schedules the next step of the flows that wait for a run.
func (h *Host) wakeFor(r *hostRun) {
	for _, f := range h.flows {
		if step := f.step; f.status == flowWaiting && f.wait.Run == r.id {
			h.schedule(h.now, orderFlow, func() { h.wake(f, step) })
		}
	}
}

// wouldBlock is the deadlock check (S4.4). It reports whether an active run of the
// session waits, directly or through other runs, for the run with this id. A run waits for
// the runs that its unanswered calls await, and for the runs ahead of it in its session.
func (h *Host) wouldBlock(sessionKey, runID string) bool {
	seen := map[string]bool{}
	var blocks func(r *hostRun) bool
	blocks = func(r *hostRun) bool {
		if r == nil || r.ended() || seen[r.id] {
			return false
		}
		seen[r.id] = true
		for _, f := range h.flows {
			if f.caller.RunID == r.id && f.answer == nil && f.status == flowWaiting && (f.wait.Run == runID || blocks(h.run(f.wait.Run))) {
				return true
			}
		}
		for _, ahead := range h.runs {
			if ahead == r {
				return false
			}
			if ahead.SessionKey == r.SessionKey && !ahead.ended() && (ahead.id == runID || blocks(ahead)) {
				return true
			}
		}
		return false
	}
	for _, r := range h.runs {
		if r.SessionKey == sessionKey && blocks(r) {
			return true
		}
	}
	return false
}

func scopeOf(c *abi.Caller) string {
	return fmt.Sprint(c.Operator, " ", c.RunID, " ", c.AgentID, " ", c.SessionKey)
}

// digest identifies a tool and its arguments, independent of the spelling of their JSON.
func digest(c *vector.Call) string {
	v, err := jsonvalue.Parse(c.Args)
	if err != nil {
		return c.Tool + " " + strconv.Quote(string(c.Args))
	}
	return c.Tool + " " + string(jsonvalue.Compact(asNumbers(v)))
}

// asNumbers replaces the spelling of each number by its value.
func asNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Float64(); err == nil {
			return n + 0 // -0 becomes 0
		}
	case []any:
		for i := range v {
			v[i] = asNumbers(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = asNumbers(v[name])
		}
	}
	return v
}

// readStep parses the output of an export strictly.
func readStep(output []byte) (r abi.StepResult, err error) {
	v, err := jsonvalue.Parse(output)
	if err != nil {
		return r, abi.NewError(abi.Internal, "the output is not JSON: "+err.Error())
	}
	o, _ := v.(map[string]any)
	if e, ok := o["error"].(map[string]any); ok && len(o) == 1 {
		return r, abi.NewError(abi.Code(jsonvalue.Text(e["code"])), jsonvalue.Text(e["message"]))
	}
	raw := struct {
		Result json.RawMessage
		Wait   struct{ State json.RawMessage }
	}{}
	if err := json.Unmarshal(output, &raw); err != nil {
		return r, abi.NewError(abi.Internal, err.Error())
	}
	f := &jsonvalue.Fields{Object: o, What: "output"}
	if f.Take("result") != nil {
		if _, object := o["result"].(map[string]any); !object {
			f.Wrong("result", "an object")
		}
		r.Result = raw.Result
	}
	f.Text("code", (*string)(&r.Code))
	f.Text("note", &r.Note)
	f.Nested("wait", func(n *jsonvalue.Fields) {
		r.Wait = &abi.Wait{State: raw.Wait.State}
		n.Text("run", &r.Wait.Run)
		n.Int64("until", &r.Wait.Until)
		n.Take("state")
		n.Int("stateVersion", &r.Wait.StateVersion)
		if r.Wait.Run == "" && r.Wait.Until == 0 {
			n.Fail(fmt.Errorf("want run or until"))
		}
	})
	if err := f.Done(); err != nil {
		return r, abi.NewError(abi.Internal, "the output is not a step result: "+err.Error())
	}
	if r.Wait != nil && len(r.Wait.State) > abi.MaxState || len(r.Note) > abi.MaxNote {
		return r, abi.NewError(abi.Internal, fmt.Sprintf("the output is too large: state has %d bytes, note %d", len(r.Wait.State), len(r.Note)))
	}
	return r, nil
}
