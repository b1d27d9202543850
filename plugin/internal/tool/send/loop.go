package send

import (
	"strconv"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/plugin/guest"
	"github.com/parley-wasm/parley/plugin/internal/announce"
)

// ReplySkip is an answer that ends the reply-back loop (S4.6).
const ReplySkip = "REPLY_SKIP"

// goOn starts the next turn, or else the announce, after a run of the exchange.
func (f *exchange) goOn(run *abi.Run) error {
	if f.phase == phaseFirst && run.Status == abi.RunDone {
		f.reply = run.Reply
	}
	f.stopped = unanswered(run)
	if f.stopped == "" {
		if f.phase == phaseTurn {
			f.latest, f.latestTurn = run.Reply, f.turn
		}
		var err error
		if f.stopped, err = f.takeTurn(run.Reply); err != nil {
			return err
		}
	}
	if f.stopped == "" {
		return nil
	}
	return f.announce()
}

// unanswered says why a run brought no answer that another could follow, or is
// empty.
func unanswered(run *abi.Run) string {
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

// takeTurn starts the turn that takes reply to the other side, or says why there
// is none.
func (f *exchange) takeTurn(reply string) (stopped string, err error) {
	switch {
	case f.requester == "":
		return "the requester is the operator", nil
	case f.itself():
		return "the session sent to itself", nil
	case f.turn >= f.Settings.MaxPingPongTurns:
		return "session.agentToAgent.maxPingPongTurns is " + strconv.Itoa(f.Settings.MaxPingPongTurns), nil
	}
	turn := f.turn + 1
	to, from := f.from, f.to
	if turn%2 == 0 {
		to, from = from, to
	}
	if why := to.gone(); why != "" {
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

// loop says how the reply-back loop went.
func (f *exchange) loop() string {
	turns := "no turns"
	switch {
	case f.turn == 1:
		turns = "1 turn"
	case f.turn > 1:
		turns = strconv.Itoa(f.turn) + " turns"
	}
	return turns + ", " + f.stopped
}
