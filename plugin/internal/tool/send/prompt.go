package send

import (
	"strconv"

	"github.com/parley-wasm/parley/plugin/internal/announce"
	"github.com/parley-wasm/parley/plugin/internal/render"
)

// Texts for agents. A context block says who speaks and what for; it is not kept
// in the transcript. Keys are shown as the agent that reads them knows them.

// firstContext goes with the message of the sender.
func firstContext(f *exchange) string {
	return contextLine("message", f) + "\nYour answer goes back to the requester."
}

// turnContext goes with the other side's reply.
func turnContext(f *exchange, turn int, to, from side) string {
	text := "Agent-to-agent reply context: turn " + strconv.Itoa(turn) + " of " + strconv.Itoa(f.Settings.MaxPingPongTurns) +
		"; your role: " + to.role + "; the " + from.role + " is session " + f.name(from, to) + ", channel " + f.channel(from) + "." +
		"\nThe message is its reply"
	if turn == 1 {
		text += " to what you sent"
		if !f.answered { // it is answered in this step
			text += "; you may have seen it already, as the result of sessions_send"
		}
	}
	return text + ". What you answer is sent back to it. If nothing needs to be said, answer exactly " + ReplySkip + "."
}

// announceContext goes with announceRequest.
func announceContext(f *exchange) string {
	return contextLine("announce", f) + "\nThis step has no tools."
}

// announceRequest asks the target for what is posted to its channel.
func announceRequest(f *exchange) string {
	f.shorten()
	text := "An exchange with another agent is over. Write what is to be posted about it to this session's channel, " +
		"for the people there, and nothing else. If nothing needs to be posted, answer exactly " + announce.Skip + "." +
		section("Original request of "+f.name(f.from, f.to), f.request) +
		section("Your first reply", f.reply)
	switch {
	case f.latest == "":
		return text + section("Latest reply", "(the first one)")
	case f.latestTurn%2 == 0:
		return text + section("Latest reply, yours", f.latest)
	}
	return text + section("Latest reply, of "+f.name(f.from, f.to), f.latest)
}

func section(title, body string) string { return "\n\n" + title + ":\n" + body }

// contextLine names both sides to the target.
func contextLine(what string, f *exchange) string {
	requester := "requester the operator"
	if f.requester != "" {
		requester = "requester session " + f.name(f.from, f.to) + ", channel " + f.channel(f.from)
	}
	return "Agent-to-agent " + what + " context: " + requester + ", target session " + f.name(f.to, f.to) + "."
}

// name returns a side's key as the agent of the reader's session knows it.
func (f *exchange) name(s, reader side) string {
	if s.key == "" {
		return "the operator"
	}
	return f.View.Keys.Display(s.key, reader.agent(f.View.Keys))
}

// channel returns a side's channel as one short word: it is recorded from
// outside.
func (f *exchange) channel(s side) string {
	c := render.Quote(s.channel(f))
	return c[1 : len(c)-1]
}
