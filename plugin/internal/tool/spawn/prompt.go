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

// Texts for agents. A context block says who speaks and what for; it is not kept
// in the transcript. Keys are shown as the agent that reads them knows them.

// taskContext goes with the task.
func (f *errand) taskContext(agentID string, q *query) string {
	text := "Sub-agent context: you were spawned by " + f.requesterFor(agentID) + ", to do one task"
	if q.label != "" {
		text += ", labelled " + render.Quote(q.label)
	}
	text += "; the message is the task.\nYou do not see the requester's conversation and cannot ask back. When you are done, answer with the result: it is "
	if q.announce == toNobody || f.requester == "" {
		return text + "kept in this session, where the requester can read it."
	}
	return text + "reported to the requester. If nothing needs to be reported, answer exactly " + announce.Skip + "."
}

// announceContext goes with announceRequest.
func (f *errand) announceContext() string {
	return "Sub-agent announce context: requester " + f.requesterFor(f.childAgent()) + ", child session " + f.child + ".\nThis step has no tools."
}

// maxShown is how much of the result an announce is told, in bytes.
const maxShown = 64 << 10

// announceRequest asks the child for its report.
func (f *errand) announceRequest(run *abi.Run, result string) string {
	resultLabel, notesLabel := announce.Labels(f.Settings.Portuguese)
	text := "Your task is over: the run " + endedWell(run) + ". Write what is reported to the requester, in this form and nothing else:\n\n" +
		resultLabel + ": what came of the task\n" +
		notesLabel + ": what else they should know, or -\n\n" +
		"Status and statistics are added for you. If nothing needs to be reported, answer exactly " + announce.Skip + "." +
		"\n\nTask:\n" + f.task
	if result == "" {
		result = "(none)"
	}
	text += "\n\nResult:\n" + transcript.CutText(result, maxShown)
	if len(result) > maxShown {
		text += "\n\nThe result is longer than what is shown of it. It is reported whole if you leave " + resultLabel + " out and write " + notesLabel + " alone."
	}
	return text
}

func endedWell(run *abi.Run) string {
	if run.Status == abi.RunDone {
		return "ended well"
	}
	text := guest.Outcome(run.Status)
	if run.Error != "" {
		text += ": " + transcript.Excerpt(run.Error, maxReason)
	}
	return text
}

// reportContext goes with the report, which is a message in the requester's
// session.
func (f *errand) reportContext() string {
	text := "Sub-agent report context: the message is the report of child session " + f.child + ", which you spawned"
	if f.row != nil && f.row.Label != "" {
		text += " with the label " + render.Quote(f.row.Label)
	}
	if t, ok := f.speaks(); ok {
		return text + ".\nYour answer is posted to this session's channel, " + word(t.Channel) + ". If nothing needs to be posted, answer exactly " + announce.Skip + "."
	}
	return text + ".\nThis session has no channel: your answer stays in its transcript."
}

// requesterFor names the requester to an agent.
func (f *errand) requesterFor(agentID string) string {
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
	return "session " + f.View.Keys.Display(f.requester, agentID) + ", channel " + word(channel)
}

// childAgent is the agent of the child's key.
func (f *errand) childAgent() string {
	id, _, _ := sessionkey.Split(f.child)
	return id
}

// word is a channel as one short word: it is recorded from outside.
func word(channel string) string {
	c := render.Quote(channel)
	return c[1 : len(c)-1]
}
