package send

import (
	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/policy"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/plugin/guest"
	"github.com/parley-wasm/parley/plugin/internal/flow"
	"github.com/parley-wasm/parley/plugin/internal/transcript"
)

// sendFlow is the flow of a send during one step: the step, and the state that it changes.
type sendFlow struct {
	*flow.Step
	state
	from, to party // requester and target, once their rows are read
	until    int64 // when the caller's timeout expires; 0: the caller does not wait
}

// party is the requester or the target.
type party struct {
	role string
	key  string       // canonical; empty: the operator
	row  *abi.Session // nil: not stored
}

// Roles in the texts for agents.
const (
	roleRequester = "requester"
	roleTarget    = "target"
)

// toSelf reports whether the requester sends to its own session.
func (f *sendFlow) toSelf() bool { return f.requester == f.target }

// readParties reads the current rows of both parties.
func (f *sendFlow) readParties() (err error) {
	if f.to, err = f.readParty(roleTarget, f.target); err == nil {
		f.from, err = f.readParty(roleRequester, f.requester)
	}
	return err
}

func (f *sendFlow) readParty(role, key string) (p party, err error) {
	p.role, p.key = role, key
	if key != "" {
		p.row, err = f.Client.Get(key)
	}
	return p, err
}

// unavailable returns why a party cannot receive messages, or "".
func (p *party) unavailable() string {
	switch {
	case p.row == nil:
		return "the " + p.role + " session does not exist"
	case p.row.ArchivedAt > 0:
		return "the " + p.role + " session is archived"
	}
	return ""
}

// agent returns the agent that runs in the party's session; the default agent runs in the
// session of the global scope (S1.3).
func (p *party) agent(keys sessionkey.Settings) string {
	if id, _, ok := sessionkey.Split(p.key); ok {
		return id
	}
	return keys.Agent()
}

// channel returns the party's channel (S1.7). For a requester that is not stored, it is
// the caller's channel in the step's input.
func (p *party) channel(f *sendFlow) string {
	switch {
	case p.row != nil:
		return policy.Channel(p.row, f.View.Keys.KindOf(p.key))
	case p.role == roleRequester && f.In.Caller.Channel != "":
		return f.In.Caller.Channel
	}
	return policy.ChannelUnknown
}

// start queues a run in the session to, on behalf of from. It returns a refusal if the
// host's policy denies the run or the session no longer exists.
func (f *sendFlow) start(to, from party, run *abi.RunRequest) (refusal *abi.Error, err error) {
	run.SessionKey, run.Source, run.Group = to.key, from.key, abi.GroupNested
	if from.role == roleRequester {
		run.Source = f.In.Caller.SessionKey // the key as the host wrote it, which may be an alias
	}
	run.Message = transcript.TruncateText(run.Message, abi.MaxText)
	id, err := f.Client.Run(run)
	if refusal, err = guest.Refusal(err); refusal == nil && err == nil {
		f.run = id
	}
	return refusal, err
}

// wait makes the flow wait for its run or, if earlier, the caller's timeout. note is the flow's
// status text.
func (f *sendFlow) wait(note string) { f.Await(f.run, f.until, note) }
