package send

import (
	"strconv"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/plugin/guest"
	"github.com/parley-wasm/parley/plugin/internal/announce"
)

// ReplySkip is the answer with which an agent ends the reply-back loop (S4.6).
const ReplySkip = "REPLY_SKIP"

// afterRun starts the next turn, or else the announce, after the first run or a turn.
func (f *sendFlow) afterRun(run *abi.Run) error {
	if f.phase == phaseFirst && run.Status == abi.RunDone {
		f.reply = run.Reply
	}
	f.stopped = stopReason(run)
	if f.stopped == "" {
		if f.phase == phaseTurn {
			f.latest, f.latestTurn = run.Reply, f.turn
		}
		var err error
		if f.stopped, err = f.startTurn(run.Reply); err != nil {
			return err
		}
	}
	if f.stopped == "" {
		return nil
	}
	return f.announce()
}

// stopReason returns why no turn can follow a run, or "".
func stopReason(run *abi.Run) string {
	switch {
	case run.Status != abi.RunDone:
		return "stopped because the run " + guest.Outcome(run.Status)
	case run.Reply == "":
		return "stopped by an empty answer"
	case run.Reply == ReplySkip:
		return "stopped by " + ReplySkip
	}
	return ""
}

// startTurn starts the turn that passes reply to the other party, or returns why there is
// no further turn.
func (f *sendFlow) startTurn(reply string) (stopped string, err error) {
	switch {
	case f.requester == "":
		return "the requester is the operator", nil
	case f.toSelf():
		return "the session sent to itself", nil
	case f.turn >= f.Settings.MaxPingPongTurns:
		return "session.agentToAgent.maxPingPongTurns is " + strconv.Itoa(f.Settings.MaxPingPongTurns), nil
	}
	turn := f.turn + 1
	to, from := f.from, f.to
	if turn%2 == 0 {
		to, from = from, to
	}
	if why := to.unavailable(); why != "" {
		return "stopped because " + why, nil
	}
	refusal, err := f.start(to, from, &abi.RunRequest{Message: reply, Context: turnContext(f, turn, to, from), TimeoutSeconds: announce.Seconds})
	if err != nil || refusal != nil {
		return because("stopped because it was refused", refusal), err
	}
	f.phase, f.turn = phaseTurn, turn
	f.wait("turn " + strconv.Itoa(turn) + " of " + strconv.Itoa(f.Settings.MaxPingPongTurns) + ": waiting for " + to.key)
	return "", nil
}

// loop returns a summary of the reply-back loop for the flow's status text.
func (f *sendFlow) loop() string {
	turns := "no turns"
	switch {
	case f.turn == 1:
		turns = "1 turn"
	case f.turn > 1:
		turns = strconv.Itoa(f.turn) + " turns"
	}
	return turns + ", " + f.stopped
}
