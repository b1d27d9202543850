package spawn

import (
	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/policy"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/plugin/guest"
	"github.com/parley-wasm/parley/plugin/internal/announce"
	"github.com/parley-wasm/parley/plugin/internal/render"
	"github.com/parley-wasm/parley/plugin/internal/transcript"
)

// Texts for agents. A context block describes the sender and the purpose of a message;
// it is not stored in the transcript. Session keys have the form that the reading agent
// sees.

// taskContext returns the context of the task.
func (f *spawnFlow) taskContext(agentID string, q *arguments) string {
	text := "Sub-agent context: you were spawned by " + f.requesterFor(agentID) + ", to do one task"
	if q.label != "" {
		text += ", labelled " + render.Quote(q.label)
	}
	text += "; the message is the task.\nYou do not see the requester's conversation and cannot ask back. When you are done, answer with the result: it is "
	if q.announce == toNone || f.requester == "" {
		return text + "kept in this session, where the requester can read it."
	}
	return text + "reported to the requester. If nothing needs to be reported, answer exactly " + announce.Skip + "."
}

// announceContext returns the context of announceRequest.
func (f *spawnFlow) announceContext() string {
	return "Sub-agent announce context: requester " + f.requesterFor(f.childAgent()) + ", child session " + f.child + ".\nThis step has no tools."
}

// maxShown bounds the result in announceRequest, in bytes.
const maxShown = 64 << 10

// announceRequest returns the message that asks the child for its report.
func (f *spawnFlow) announceRequest(run *abi.Run, result string) string {
	resultLabel, notesLabel := announce.Labels(f.Settings.Portuguese)
	text := "Your task is over: the run " + howEnded(run) + ". Write what is reported to the requester, in this form and nothing else:\n\n" +
		resultLabel + ": what came of the task\n" +
		notesLabel + ": what else they should know, or -\n\n" +
		"Status and statistics are added for you. If nothing needs to be reported, answer exactly " + announce.Skip + "." +
		"\n\nTask:\n" + f.task
	if result == "" {
		result = "(none)"
	}
	text += "\n\nResult:\n" + transcript.TruncateText(result, maxShown)
	if len(result) > maxShown {
		text += "\n\nThe result is longer than what is shown of it. It is reported whole if you leave " + resultLabel + " out and write " + notesLabel + " alone."
	}
	return text
}

// howEnded returns a phrase for the child's agent about how its run ended.
func howEnded(run *abi.Run) string {
	if run.Status == abi.RunDone {
		return "ended well"
	}
	text := guest.Outcome(run.Status)
	if run.Error != "" {
		text += ": " + transcript.Excerpt(run.Error, maxReason)
	}
	return text
}

// reportContext returns the context of a report that is a message in the requester's
// session.
func (f *spawnFlow) reportContext() string {
	text := "Sub-agent report context: the message is the report of child session " + f.child + ", which you spawned"
	if f.row != nil && f.row.Label != "" {
		text += " with the label " + render.Quote(f.row.Label)
	}
	if t, ok := f.target(); ok {
		return text + ".\nYour answer is posted to this session's channel, " + channelName(t.Channel) + ". If nothing needs to be posted, answer exactly " + announce.Skip + "."
	}
	return text + ".\nThis session has no channel: your answer stays in its transcript."
}

// requesterFor returns the description of the requester for an agent.
func (f *spawnFlow) requesterFor(agentID string) string {
	if f.requester == "" {
		return "the operator"
	}
	channel := f.In.Caller.Channel
	if f.from != nil {
		channel = policy.Channel(f.from, f.View.Keys.KindOf(f.requester))
	}
	if channel == "" {
		channel = policy.ChannelUnknown
	}
	return "session " + f.View.Keys.Display(f.requester, agentID) + ", channel " + channelName(channel)
}

// childAgent returns the agent in the child's key.
func (f *spawnFlow) childAgent() string {
	id, _, _ := sessionkey.Split(f.child)
	return id
}

// channelName returns a channel as a short line of printable characters, because the name of
// a channel comes from outside.
func channelName(channel string) string {
	c := render.Quote(channel)
	return c[1 : len(c)-1]
}
