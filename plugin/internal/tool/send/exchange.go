package send

import (
	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/policy"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/plugin/guest"
	"github.com/parley-wasm/parley/plugin/internal/flow"
	"github.com/parley-wasm/parley/plugin/internal/transcript"
)

// exchange is one step of a send, and the state that it changes.
type exchange struct {
	*flow.Step
	state
	from, to side  // requester and target, once looked at
	until    int64 // of the wait; 0: none
}

// side is one of the two sessions.
type side struct {
	role string
	key  string       // canonical; empty: the operator
	row  *abi.Session // nil: not stored
}

// Roles as agents are told them.
const (
	roleRequester = "requester"
	roleTarget    = "target"
)

// itself reports whether the requester sends to its own session.
func (f *exchange) itself() bool { return f.requester == f.target }

// look reads the rows of both sides, which are then as new as the step.
func (f *exchange) look() (err error) {
	if f.to, err = f.side(roleTarget, f.target); err == nil {
		f.from, err = f.side(roleRequester, f.requester)
	}
	return err
}

func (f *exchange) side(role, key string) (s side, err error) {
	s.role, s.key = role, key
	if key != "" {
		s.row, err = f.Client.Get(key)
	}
	return s, err
}

// gone says why a side takes no messages any more, or is empty.
func (s *side) gone() string {
	switch {
	case s.row == nil:
		return "the " + s.role + " session does not exist"
	case s.row.ArchivedAt > 0:
		return "the " + s.role + " session is archived"
	}
	return ""
}

// agent returns the agent that runs in the side's session; the session of the
// global scope is run by the default agent (S1.3).
func (s *side) agent(keys sessionkey.Settings) string {
	if id, _, ok := sessionkey.Split(s.key); ok {
		return id
	}
	return keys.Agent()
}

// channel returns the side's channel (S1.7). Of a requester that is not stored it
// is what the host says of the caller.
func (s *side) channel(f *exchange) string {
	switch {
	case s.row != nil:
		return policy.Channel(s.row, f.View.Keys.KindOf(s.key))
	case s.role == roleRequester && f.In.Caller.Channel != "":
		return f.In.Caller.Channel
	}
	return policy.ChannelUnknown
}

// start queues a run in the session to, on behalf of from. A refusal is the
// host's: its policy is against it, or the session is gone.
func (f *exchange) start(to, from side, run *abi.RunRequest) (refusal *abi.Error, err error) {
	run.SessionKey, run.Source, run.Group = to.key, from.key, abi.GroupNested
	if from.role == roleRequester {
		run.Source = f.In.Caller.SessionKey // as the host knows it
	}
	run.Message = transcript.CutText(run.Message, abi.MaxText)
	id, err := f.Client.Run(run)
	if refusal, err = guest.Refusal(err); refusal == nil && err == nil {
		f.run = id
	}
	return refusal, err
}

// wait lets the flow wait for its run, and until the caller's time is over. note
// says how the flow stands.
func (f *exchange) wait(note string) { f.Await(f.run, f.until, note) }
