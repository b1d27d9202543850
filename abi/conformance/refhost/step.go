package refhost

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/conformance/vector"
	"github.com/parley-wasm/parley/abi/internal/jsonvalue"
	"github.com/parley-wasm/parley/abi/policy"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

// hostStep is one step: its snapshot of the store, and the effects that it records.
type hostStep struct {
	host         *Host
	flow         *hostFlow
	writes       bool // false for a read-only tool
	store        *Store
	effects      []func()
	runSessions  []string // sessions in which it starts runs
	created      []*vector.StoredSession
	calls, bytes int
}

var _ HostFunctions = (*hostStep)(nil)

func (s *hostStep) run(export string, input []byte) (abi.StepResult, error) {
	var r abi.StepResult
	output, err := s.host.plugin(export, input, s)
	if err == nil {
		r, err = readStep(output)
	}
	for _, child := range s.created {
		if err == nil && !slices.Contains(s.runSessions, child.Session.Key) {
			err = abi.NewError(abi.Internal, "the child "+child.Session.Key+" has no run")
		}
	}
	if err == nil && !s.writes && (r.Wait != nil || r.Result == nil) {
		err = abi.NewError(abi.Forbidden, "a read-only tool must answer in its first step")
	}
	return r, err
}

// Call answers one request. It passes requests that neither write nor concern runs to
// the store.
func (s *hostStep) Call(namespace string, doc []byte) []byte {
	reply, err := s.serve(namespace, doc)
	var e *abi.Error
	switch {
	case err == nil && reply == nil:
		reply = s.store.Call(namespace, doc)
	case errors.As(err, &e):
		reply = abi.AppendError(nil, e.Code, e.Message)
	case err != nil:
		reply = abi.AppendError(nil, abi.InvalidArgs, err.Error())
	}
	s.calls++
	s.bytes += len(reply)
	return reply
}

func (s *hostStep) serve(namespace string, doc []byte) ([]byte, error) {
	v, err := jsonvalue.Parse(doc)
	o, _ := v.(map[string]any)
	if err != nil || o == nil {
		return nil, nil // the store returns the error
	}
	f := &jsonvalue.Fields{Object: o, What: namespace}
	var op string
	f.Text("op", &op)
	write := abi.IsWrite(namespace, op)
	if write && !s.writes {
		return nil, nil // the store refuses it
	}
	if !write && len(s.effects) > 0 {
		return nil, abi.NewError(abi.Conflict, "a step must not read after it has written")
	}
	if write && len(s.effects) == abi.MaxEffects {
		return nil, abi.NewError(abi.Limit, "too many effects in one step")
	}
	switch namespace + "." + op {
	case "agent.status":
		return s.status(f)
	case "agent.waits":
		return s.waits(f)
	case "agent.run":
		return s.start(f)
	case "store.create":
		return s.create(f)
	case "store.archive", "store.delete":
		return s.remove(f, op == abi.OpDelete)
	case "deliver.send":
		return s.send(f)
	}
	if write {
		return nil, abi.NewError(abi.Unsupported, "unknown operation "+op)
	}
	return nil, nil
}

func (s *hostStep) status(f *jsonvalue.Fields) ([]byte, error) {
	var id string
	f.Required("runId", &id)
	if err := f.Done(); err != nil {
		return nil, err
	}
	r := s.host.run(id)
	if r == nil {
		return abi.AppendReply(nil, &abi.StatusReply{}), nil
	}
	return abi.AppendReply(nil, &abi.StatusReply{Run: r.abi()}), nil
}

func (s *hostStep) waits(f *jsonvalue.Fields) ([]byte, error) {
	var key string
	f.Required("sessionKey", &key)
	id := s.flow.caller.RunID
	return abi.AppendReply(nil, &abi.WaitsReply{Waits: new(id != "" && s.host.wouldBlock(key, id))}), f.Done()
}

// participates reports whether a session takes part in the flow: it is the caller's
// session, or the flow starts a run in it.
func (s *hostStep) participates(key string) bool {
	return key == s.flow.caller.SessionKey || slices.Contains(s.flow.sessions, key) || slices.Contains(s.runSessions, key)
}

// start records a run to be queued (S4.5, S8.3).
func (s *hostStep) start(f *jsonvalue.Fields) ([]byte, error) {
	r := &hostRun{id: s.host.newID("run")}
	var source string
	f.Required("sessionKey", &r.SessionKey)
	message(f, "message", &r.Message)
	f.Text("context", &r.Context)
	if len(r.Context) > abi.MaxText {
		f.Wrong("context", fmt.Sprintf("at most %d bytes", abi.MaxText))
	}
	f.Text("source", &source)
	f.Required("group", &r.Group)
	f.Flag("noTools", &r.NoTools)
	f.Int("timeoutSeconds", &r.TimeoutSeconds)
	child := s.createdChild(r.SessionKey)
	switch {
	case r.Group == abi.GroupSubagent && child != nil:
		r.spawnedBy = child.Session.SpawnedBy
	case r.Group != abi.GroupNested:
		f.Wrong("group", "nested, or subagent for a session that this step creates")
	}
	if err := f.Done(); err != nil {
		return nil, err
	}
	if child == nil {
		session := s.host.session(r.SessionKey)
		if session == nil || session.ArchivedAt != 0 {
			return nil, abi.NewError(abi.NotFound, "session "+r.SessionKey+" does not exist, or is archived")
		}
		if err := s.host.settings.checkReceive(session); err != nil {
			return nil, err
		}
	}
	if s.flow.caller.Hops >= abi.MaxHops {
		return nil, abi.NewError(abi.Forbidden, fmt.Sprintf("the chain of flows exceeds %d hops", abi.MaxHops))
	}
	if source == "" {
		source = s.flow.caller.SessionKey
	}
	if source != "" && !s.participates(source) {
		return nil, abi.NewError(abi.Forbidden, fmt.Sprintf("source %q does not take part in this flow", source))
	}
	r.Provenance = jsonvalue.Compact(s.provenance(source))
	r.Hops = s.flow.caller.Hops + 1
	r.sandboxed = s.flow.caller.Sandboxed && r.SessionKey == s.flow.caller.SessionKey
	s.runSessions = append(s.runSessions, r.SessionKey)
	s.effects = append(s.effects, func() {
		s.flow.sessions = append(s.flow.sessions, r.SessionKey)
		s.host.queue(r)
	})
	return abi.AppendReply(nil, &abi.RunReply{RunID: r.id}), nil
}

// message reads a text that must not be blank and has at most abi.MaxText bytes.
func message(f *jsonvalue.Fields, name string, to *string) {
	if f.Required(name, to); strings.TrimSpace(*to) == "" || len(*to) > abi.MaxText {
		f.Wrong(name, fmt.Sprintf("a text that is not blank and has at most %d bytes", abi.MaxText))
	}
}

// provenance returns the host's record of a message's origin (S4.5).
func (s *hostStep) provenance(source string) map[string]any {
	p := map[string]any{"kind": "inter_session", "sourceTool": s.flow.tool}
	if source == "" {
		return p
	}
	p["sourceSessionKey"] = source
	if source == sessionkey.Global {
		p["sourceSessionKey"] = sessionkey.Main
	}
	p["sourceChannel"] = policy.ChannelUnknown
	if session := s.host.session(source); session != nil {
		p["sourceChannel"] = policy.Channel(session, s.host.settings.keys.KindOf(source))
	} else if s.flow.caller.Channel != "" {
		p["sourceChannel"] = s.flow.caller.Channel
	}
	return p
}

// send records a delivery.
func (s *hostStep) send(f *jsonvalue.Fields) ([]byte, error) {
	d := &vector.DeliveryOutcome{}
	var runID string
	atCall := false
	f.Required("sessionKey", &d.SessionKey)
	message(f, "text", &d.Text)
	f.Text("runId", &runID)
	f.Flag("atCall", &atCall)
	if c := &s.flow.caller; atCall {
		d.Target = abi.Target{Channel: c.Channel, To: c.To, AccountID: c.AccountID, ThreadID: c.ThreadID}
		if d.SessionKey != c.SessionKey || !policy.Deliverable(d.Target) {
			f.Wrong("atCall", "the caller's session, with a channel")
		}
	}
	if err := f.Done(); err != nil {
		return nil, err
	}
	if atCall {
		session := s.host.session(d.SessionKey)
		if session == nil {
			return nil, abi.NewError(abi.NotFound, "session "+d.SessionKey+" does not exist")
		}
		if err := s.host.settings.checkPolicy(session, d.Channel); err != nil {
			return nil, err
		}
	}
	if !s.participates(d.SessionKey) {
		return nil, abi.NewError(abi.Forbidden, "session "+d.SessionKey+" does not take part in this flow")
	}
	s.effects = append(s.effects, func() { s.host.deliver(d, s.flow) })
	return abi.AppendReply(nil, &abi.SendReply{DeliveryID: s.host.newID("delivery")}), nil
}
