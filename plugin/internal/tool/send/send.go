// Package send implements the tool sessions_send (S4): it sends a message into another
// session, returns the answer of that session's agent, and runs the reply-back loop and
// the announce that follow.
//
// A call is a flow of steps, none of which blocks. The state between two steps identifies
// the run that the flow waits for, in one of three phases:
//
//	first     the target's run for the message. The caller is answered when
//	          that run ends, when the caller's timeout expires, or at once.
//	turn      a turn of the reply-back loop: odd turns go to the requester, even
//	          ones to the target, each with the other party's reply (S4.6).
//	announce  the target's run that writes the text to be posted (S4.7).
//
//	call ─► first ─► turn 1 … n ─► announce ─► end
//	          └────────────────────────▲
//
// After every run the flow continues with the next turn if possible, else with the
// announce if possible, else it ends. A first run that failed has no reply, so neither
// turns nor the announce follow it. All reads of a step precede its first write. A refusal by
// the host (send policy, a deleted session) is the tool's result in the first step; in a
// later step it ends the refused part of the flow.
package send

import (
	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/schema"
	"github.com/parley-wasm/parley/plugin/guest"
	"github.com/parley-wasm/parley/plugin/internal/flow"
	"github.com/parley-wasm/parley/plugin/internal/render"
	"github.com/parley-wasm/parley/plugin/rules/reference"
)

// Tool describes sessions_send.
func Tool() abi.Tool {
	return abi.Tool{
		Name: abi.ToolSend,
		Description: "Send a message into another session, whose agent answers it. " +
			"Waits up to timeoutSeconds (default 30) for the answer; with 0 it returns at once. " +
			"The status timeout means that the message was received and the run continues: do not send again, read sessions_history later. " +
			"Afterwards your session and the other may exchange a few more replies; reply exactly REPLY_SKIP to end that. " +
			"At the end the other session may post an announcement to its chat channel.",
		InputSchema:  schema.SendInput,
		OutputSchema: schema.SendOutput,
		Needs:        []string{"session", "tools", "agents"},
	}
}

// Call runs the first step. It fails with an *abi.Error or a *guest.Fault.
func Call(h guest.Host, in *guest.Input) (*abi.StepResult, error) {
	q, err := read(in.Args)
	if err != nil {
		return nil, err
	}
	if err := in.CheckHops("sending"); err != nil {
		return nil, err
	}
	step, err := flow.Open(h, in)
	if err != nil {
		return nil, err
	}
	f := &sendFlow{Step: step}
	row, err := find(f, &q)
	if err != nil {
		return nil, err
	}
	f.state = state{phase: phaseFirst, requester: f.View.Self, target: row.Key, quiet: q.quiet, request: q.message}
	waits, err := f.canWait(&q)
	if err != nil {
		return nil, err
	}
	f.to = party{roleTarget, row.Key, row}
	if f.from, err = f.readParty(roleRequester, f.requester); err != nil {
		return nil, err
	}
	refusal, err := f.start(f.to, f.from, &abi.RunRequest{Message: q.message, Context: firstContext(f)})
	switch {
	case err != nil:
		return nil, err
	case refusal != nil:
		return nil, refusal
	case waits:
		f.until = in.AcceptedAt + q.timeout*1000
	}
	f.wait("waiting for " + f.target)
	if !waits {
		f.answer(&answer{run: f.run, status: statusAccepted, message: messageStored})
	}
	return f.Result(f.appendJSON), nil
}

// find returns the target: a session that the caller may see and that accepts messages.
func find(f *sendFlow, q *arguments) (row *abi.Session, err error) {
	name := q.ref
	if name != "" {
		row, err = reference.Find(f.Client, f.View, "sessionKey", name)
	} else {
		name = q.label
		row, err = reference.Labelled(f.Client, f.View, name, q.agentID)
	}
	if err == nil && row.ArchivedAt > 0 {
		err = abi.NewError(abi.NotFound, "session "+render.Quote(name)+" is archived and takes no messages; sessions_list shows the sessions that do")
	}
	return row, err
}

// canWait reports whether the caller wants to wait for the answer, and the wait would not
// deadlock (S4.4).
func (f *sendFlow) canWait(q *arguments) (bool, error) {
	switch {
	case q.timeout == 0 || f.toSelf():
		return false, nil
	case f.In.Caller.RunID == "":
		return true, nil
	}
	deadlock, err := f.Client.Waits(f.target)
	return !deadlock, err
}

// Resume runs a further step. It fails with a *guest.Fault.
func Resume(h guest.Host, in *guest.Input) (*abi.StepResult, error) {
	f := &sendFlow{}
	var err error
	if f.Step, err = flow.Reopen(h, in, f.state.parse); err != nil {
		return nil, err
	}
	if err := f.handle(in.Event); err != nil {
		return nil, err
	}
	return f.Result(f.appendJSON), nil
}
