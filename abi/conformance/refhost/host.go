// Package refhost is a reference host in memory: flows, runs, waits, send policy
// and deliveries as the specification and abi/README.md ask for them, on a clock
// of its own.
//
// Everything here is written for clarity, with encoding/json and linear scans:
// it is the measure for the fast implementations, not one of them, and shares no
// code with them but the forms of keys and messages.
package refhost

import (
	"fmt"
	"math"
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/conformance/vector"
	"github.com/parley-wasm/parley/abi/internal/jsonvalue"
	"github.com/parley-wasm/parley/abi/policy"
)

// HostFunctions answer one request to an import family. A refusal is a reply
// too.
type HostFunctions interface {
	Call(family string, request []byte) (reply []byte)
}

// Plugin runs an export of the plugin and returns its output. An error is what
// ended it instead, such as a limit of its sandbox.
type Plugin func(export string, input []byte, h HostFunctions) (output []byte, err error)

// Host is the reference host: a World in memory that does what abi/README.md asks
// of a host and the specification of its flows (S4.4), runs (S4.5), send policy
// (S8) and deliveries (S9). Nothing in it happens at the same time as anything
// else, and it takes no time but what the vector's agents take.
type Host struct {
	clock
	plugin     Plugin
	tools      map[string]tool
	settings   hostSettings
	config     map[string]any
	sessions   []vector.StoredSession
	flows      []*hostFlow
	runs       []*hostRun
	deliveries []*vector.DeliveryOutcome
	cast       *vector.Agents
	life       int // how often the gateway has come up again
	made       int // ids
	problems   []string
}

var _ vector.Fixture = (*Host)(nil)

// tool is what a host must know of one.
type tool struct {
	readOnly bool
	needs    []string
}

// New makes a vector's world around a plugin. It fails when the plugin does
// not describe itself; a configuration is checked only as far as the host reads
// it.
func New(v *vector.Vector, p Plugin) (*Host, error) {
	h := &Host{clock: clock{now: v.Now}, plugin: p, cast: vector.NewAgents(v)}
	if err := h.describe(); err != nil {
		return nil, err
	}
	config, err := jsonvalue.Parse(v.Config)
	if err != nil {
		return nil, err
	}
	h.config = config.(map[string]any)
	h.settings = settingsOf(h.config)
	h.sessions = append(h.sessions, v.Store.Sessions...)
	for _, b := range v.Before {
		h.queue(&hostRun{RunOutcome: vector.RunOutcome{SessionKey: b.SessionKey, Message: "before", Group: abi.GroupMain}, before: true})
	}
	for h.next(h.now) { // the runs before have begun
	}
	return h, nil
}

func (h *Host) describe() error {
	doc, err := h.plugin(abi.ExportDescribe, nil, nil)
	if err != nil {
		return fmt.Errorf("describe: %w", err)
	}
	v, err := jsonvalue.Parse(doc)
	if err != nil {
		return fmt.Errorf("describe: %w", err)
	}
	tools, ok := jsonvalue.Lookup(v, "/tools")
	if !ok {
		return fmt.Errorf("describe: no tools in %s", jsonvalue.Brief(v))
	}
	h.tools = map[string]tool{}
	for _, item := range jsonvalue.List(tools) {
		o, _ := item.(map[string]any)
		t := tool{readOnly: o["readOnly"] == true}
		for _, name := range jsonvalue.List(o["needs"]) {
			t.needs = append(t.needs, jsonvalue.Text(name))
		}
		h.tools[jsonvalue.Text(o["name"])] = t
	}
	return nil
}

// configOf returns the part of the settings that a tool needs.
func (h *Host) configOf(tool string) []byte {
	part := map[string]any{}
	for _, name := range h.tools[tool].needs {
		if jsonvalue.Has(h.config, name) {
			part[name] = h.config[name]
		}
	}
	return jsonvalue.Compact(part)
}

// Call makes a tool call and lets things happen until it is answered.
func (h *Host) Call(c *vector.Call) vector.Answer {
	var got *vector.Answer
	h.call(c, func(a vector.Answer) { got = &a })
	gone := int64(math.MaxInt64)
	if c.AbandonAfterMs > 0 {
		gone = h.now + c.AbandonAfterMs
	}
	for got == nil && len(h.events) > 0 && h.next(gone) {
	}
	switch {
	case got != nil:
		return *got
	case c.AbandonAfterMs > 0:
		h.now = gone
		return vector.Answer{Abandoned: true}
	}
	return vector.Answer{Err: fmt.Errorf("the call is never answered")}
}

// Pass lets time pass.
func (h *Host) Pass(ms int64) {
	for end := h.now + ms; h.next(end); {
	}
}

// Finish lets everything happen that is under way.
func (h *Host) Finish() *vector.Outcome {
	for len(h.events) > 0 {
		h.next(math.MaxInt64)
	}
	o := &vector.Outcome{Problems: append(h.problems, h.cast.Unused()...)}
	for _, f := range h.flows {
		if len(f.sessions) > 0 {
			o.Flows = append(o.Flows, vector.FlowOutcome{Tool: f.tool, SessionKey: f.caller.SessionKey, Status: f.status, Note: f.standing()})
		}
	}
	for _, r := range h.runs {
		if !r.before {
			o.Runs = append(o.Runs, r.RunOutcome)
		}
		if s := h.session(r.SessionKey); s != nil && r.Group == abi.GroupSubagent {
			o.Children = append(o.Children, vector.NewChildOutcome(s))
		}
	}
	for _, d := range h.deliveries {
		o.Deliveries = append(o.Deliveries, *d)
	}
	return o
}

// Restart ends the gateway and starts it again: whoever waited is gone, runs that
// were executing are executed again as far as their attempts go (S10.2), and
// everything else goes on.
func (h *Host) Restart() error {
	h.life++
	for _, f := range h.flows {
		f.waiters = nil
	}
	for _, r := range h.runs {
		if r.Status == abi.RunRunning {
			if r.Attempts == h.settings.maxAttempts {
				h.end(r, abi.RunFailed, "", "interrupted")
				continue
			}
			h.attempt(r)
		}
	}
	return nil
}

// Kill aborts a run, if it has not ended.
func (h *Host) Kill(runID string) error {
	r := h.run(runID)
	if r == nil {
		return fmt.Errorf("there is no run %s", runID)
	}
	h.end(r, abi.RunKilled, "", vector.Killed)
	return nil
}

// Patch changes a session.
func (h *Host) Patch(p *vector.Patch) error {
	s := h.session(p.Key)
	if s == nil {
		return fmt.Errorf("there is no session %s", p.Key)
	}
	if p.SendPolicy != nil {
		s.SendPolicy = *p.SendPolicy
	}
	if p.Archived != nil {
		if s.ArchivedAt = 0; *p.Archived {
			s.ArchivedAt = h.now
		}
	}
	return nil
}

// commands are the messages that change the send policy (S8.2).
var commands = map[string]string{"/send on": allow, "/send off": deny, "/send inherit": ""}

// Receive takes a message from a channel (S8.2, S8.3).
func (h *Host) Receive(m *vector.Inbound) vector.Answer {
	s := h.session(m.SessionKey)
	if s == nil {
		return vector.Answer{Err: abi.NewError(abi.NotFound, "there is no session "+m.SessionKey)}
	}
	override, command := commands[strings.TrimSpace(m.Text)]
	if command && (m.From == "" && m.Target.Channel == "" || h.settings.owns(m.Target.Channel, m.From)) {
		s.SendPolicy = override
		return vector.Answer{Result: []byte(`{"status":"ok"}`)}
	}
	if known := policy.DeliveryContext(s); m.Target.To == "" && m.Target.Channel == known.Channel {
		m.Target.To = known.To
	}
	if m.Target.Channel != "" {
		s.LastChannel, s.LastTo = m.Target.Channel, m.Target.To
		s.LastAccountID, s.LastThreadID = m.Target.AccountID, m.Target.ThreadID
	}
	if err := h.settings.receives(s); err != nil {
		return vector.Answer{Err: err}
	}
	h.queue(&hostRun{RunOutcome: vector.RunOutcome{SessionKey: s.Key, Message: m.Text, Group: abi.GroupMain}, deliver: true})
	return vector.Answer{Result: []byte(`{"status":"accepted"}`)}
}

// newID returns an id that nothing else has.
func (h *Host) newID(prefix string) string {
	h.made++
	return fmt.Sprintf("%s-%d", prefix, h.made)
}

// session returns a stored session, to be read or changed, or nil.
func (h *Host) session(key string) *abi.Session {
	if stored := h.stored(key); stored != nil {
		return &stored.Session
	}
	return nil
}

func (h *Host) stored(key string) *vector.StoredSession {
	for i := range h.sessions {
		if h.sessions[i].Session.Key == key {
			return &h.sessions[i]
		}
	}
	return nil
}
