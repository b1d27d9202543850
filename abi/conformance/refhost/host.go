// Package refhost is a reference host in memory. It implements flows, runs, waits, send
// policy and deliveries as the specification and abi/README.md define them, on a
// simulated clock.
//
// The package favours clarity over speed, with encoding/json and linear scans. It is
// the reference for other implementations, and shares only the types of the ABI, session
// keys and channel rules with them.
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

// HostFunctions answers the host calls of a step: requests to one namespace of host
// functions (abi.ImportStore …). A refused request gets a reply too.
type HostFunctions interface {
	Call(namespace string, request []byte) (reply []byte)
}

// Plugin calls an export of the plugin and returns its output. It returns an error if
// the export did not complete, for example at a limit of the sandbox.
type Plugin func(export string, input []byte, h HostFunctions) (output []byte, err error)

// Host is the reference host: a vector.Fixture in memory that implements the host's part
// of abi/README.md and of the specification: flows (S4.4), runs (S4.5), send policy (S8)
// and deliveries (S9). It is strictly sequential. Only the turns of the vector's agents
// take time.
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
	agents     *vector.Agents
	restarts   int // number of restarts so far
	lastID     int // number of ids created so far
	problems   []string
}

var _ vector.Fixture = (*Host)(nil)

// tool is the part of a tool's description that the host uses.
type tool struct {
	readOnly bool
	needs    []string
}

// New creates the fixture of a vector for a plugin. It fails if the plugin's export
// describe fails. It does not validate the configuration.
func New(v *vector.Vector, p Plugin) (*Host, error) {
	h := &Host{clock: clock{now: v.Now}, plugin: p, agents: vector.NewAgents(v)}
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
	for h.next(h.now) { // start the runs of v.Before
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
		return fmt.Errorf("describe: no member tools in %s", jsonvalue.Truncate(v))
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

// configOf returns the settings that a tool needs.
func (h *Host) configOf(tool string) []byte {
	part := map[string]any{}
	for _, name := range h.tools[tool].needs {
		if jsonvalue.Has(h.config, name) {
			part[name] = h.config[name]
		}
	}
	return jsonvalue.Compact(part)
}

// Call makes a tool call and handles events until the call is answered or abandoned.
func (h *Host) Call(c *vector.Call) vector.Answer {
	var got *vector.Answer
	h.call(c, func(a vector.Answer) { got = &a })
	abandonAt := int64(math.MaxInt64)
	if c.AbandonAfterMs > 0 {
		abandonAt = h.now + c.AbandonAfterMs
	}
	for got == nil && len(h.events) > 0 && h.next(abandonAt) {
	}
	switch {
	case got != nil:
		return *got
	case c.AbandonAfterMs > 0:
		h.now = abandonAt
		return vector.Answer{Abandoned: true}
	}
	return vector.Answer{Err: fmt.Errorf("refhost: no event is left, and the call has no answer")}
}

// Advance advances the clock and handles the events that become due.
func (h *Host) Advance(ms int64) {
	for end := h.now + ms; h.next(end); {
	}
}

// Finish handles all events and returns the outcome.
func (h *Host) Finish() *vector.Outcome {
	for len(h.events) > 0 {
		h.next(math.MaxInt64)
	}
	o := &vector.Outcome{Problems: append(h.problems, h.agents.Unused()...)}
	for _, f := range h.flows {
		if len(f.sessions) > 0 {
			o.Flows = append(o.Flows, vector.FlowOutcome{Tool: f.tool, SessionKey: f.caller.SessionKey, Status: f.status, Note: f.statusText()})
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

// Restart stops and starts the gateway: waiting callers lose their connections, running
// runs are executed again if they have attempts left (S10.2), and all else continues.
func (h *Host) Restart() error {
	h.restarts++
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

// Abort aborts a run unless it has ended.
func (h *Host) Abort(runID string) error {
	r := h.run(runID)
	if r == nil {
		return fmt.Errorf("run %s does not exist", runID)
	}
	h.end(r, abi.RunKilled, "", vector.AbortedByOperator)
	return nil
}

// Patch changes a session.
func (h *Host) Patch(p *vector.Patch) error {
	s := h.session(p.Key)
	if s == nil {
		return fmt.Errorf("session %s does not exist", p.Key)
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

// commands maps the messages that change the send policy (S8.2) to the override.
var commands = map[string]string{"/send on": allow, "/send off": deny, "/send inherit": ""}

// Receive takes a message from a channel (S8.2, S8.3).
func (h *Host) Receive(m *vector.Inbound) vector.Answer {
	s := h.session(m.SessionKey)
	if s == nil {
		return vector.Answer{Err: abi.NewError(abi.NotFound, "session "+m.SessionKey+" does not exist")}
	}
	override, command := commands[strings.TrimSpace(m.Text)]
	if command && (m.From == "" && m.Target.Channel == "" || h.settings.isOwner(m.Target.Channel, m.From)) {
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
	if err := h.settings.checkReceive(s); err != nil {
		return vector.Answer{Err: err}
	}
	h.queue(&hostRun{RunOutcome: vector.RunOutcome{SessionKey: s.Key, Message: m.Text, Group: abi.GroupMain}, deliver: true})
	return vector.Answer{Result: []byte(`{"status":"accepted"}`)}
}

// newID returns a unique id.
func (h *Host) newID(prefix string) string {
	h.lastID++
	return fmt.Sprintf("%s-%d", prefix, h.lastID)
}

// session returns the stored session with this key, which the caller may change, or nil.
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
