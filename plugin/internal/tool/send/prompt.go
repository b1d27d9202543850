package send

import (
	"strconv"

	"github.com/parley-wasm/parley/plugin/internal/announce"
	"github.com/parley-wasm/parley/plugin/internal/render"
)

// Texts for agents. A context block describes the sender and the purpose of a message;
// it is not stored in the transcript. Session keys have the form that the reading agent
// sees.

// firstContext returns the context of the requester's message.
func firstContext(f *sendFlow) string {
	return contextLine("message", f) + "\nYour answer goes back to the requester."
}

// turnContext returns the context of a turn, whose message is the other party's reply.
func turnContext(f *sendFlow, turn int, to, from party) string {
	text := "Agent-to-agent reply context: turn " + strconv.Itoa(turn) + " of " + strconv.Itoa(f.Settings.MaxPingPongTurns) +
		"; your role: " + to.role + "; the " + from.role + " is session " + f.name(from, to) + ", channel " + f.channel(from) + "." +
		"\nThe message is its reply"
	if turn == 1 {
		text += " to what you sent"
		if !f.answered { // this step answers the caller
			text += "; you may have seen it already, as the result of sessions_send"
		}
	}
	return text + ". What you answer is sent back to it. If nothing needs to be said, answer exactly " + ReplySkip + "."
}

// announceContext returns the context of announceRequest.
func announceContext(f *sendFlow) string {
	return contextLine("announce", f) + "\nThis step has no tools."
}

// announceRequest returns the message that asks the target's agent to write the text for its
// channel.
func announceRequest(f *sendFlow) string {
	f.fitTexts()
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

// contextLine returns the line that describes both parties to the target.
func contextLine(what string, f *sendFlow) string {
	requester := "requester the operator"
	if f.requester != "" {
		requester = "requester session " + f.name(f.from, f.to) + ", channel " + f.channel(f.from)
	}
	return "Agent-to-agent " + what + " context: " + requester + ", target session " + f.name(f.to, f.to) + "."
}

// name returns a party's key in the form that the agent of the reader's session sees.
func (f *sendFlow) name(s, reader party) string {
	if s.key == "" {
		return "the operator"
	}
	return f.View.Keys.Display(s.key, reader.agent(f.View.Keys))
}

// channel returns a party's channel as a short line of printable characters, because the
// name of a channel comes from outside.
func (f *sendFlow) channel(s party) string {
	c := render.Quote(s.channel(f))
	return c[1 : len(c)-1]
}
