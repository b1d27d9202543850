package main

import (
	"regexp"
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/e2e"
)

// tagged matches a call's tag, which every text of the call contains.
var tagged = regexp.MustCompile(`#[a-z0-9-]+#`)

// childKey matches the child's key, which every report contains.
var childKey = regexp.MustCompile(`agent:[a-z]+:subagent:[0-9a-f-]+`)

// replyToReport returns the requester's reply to the report of a child.
func replyToReport(child string) string { return "received the report of " + child }

// announceSkip is the reply after which nothing is posted (S5.5).
const announceSkip = "ANNOUNCE_SKIP"

// task defines the replies of a child's agent, in which # is the tag.
type task struct {
	work     string // reply to the task
	announce string // reply to the announce request
	seconds  int    // time limit of the child's run; 0: none
}

// A child's report and its parts. The plugin must replace its status and statistics.
const (
	resultText = "result #"
	notesText  = "notes #"
	reportText = "Status: killed\nResult: " + resultText + "\nNotes: " + notesText + "\nStats: runtime 9h"
)

// tasks are the kinds of tasks, by the first word of the task. The task skip needs an
// announce too, because an interrupted child receives an announce request.
var tasks = map[string]task{
	"do":            {work: "done #", announce: reportText},
	"skip":          {work: announceSkip, announce: reportText},
	"skip-announce": {work: "done #", announce: announceSkip},
	"fail-announce": {work: "done #", announce: e2e.ModelFails},
	"fail":          {work: e2e.ModelFails, announce: reportText},
	"fail-both":     {work: e2e.ModelFails, announce: e2e.ModelFails},
	"slow":          {work: e2e.ModelHangs, announce: reportText, seconds: 1},
}

// statusAfter returns the status of an uninterrupted run after its agent's reply.
func statusAfter(reply string) string {
	switch reply {
	case e2e.ModelFails:
		return abi.RunFailed
	case e2e.ModelHangs:
		return abi.RunTimeout
	}
	return abi.RunDone
}

// reply returns the reply of any agent to a message. Only the model interprets
// e2e.ModelFails and e2e.ModelHangs.
func reply(message string) string {
	tag := tagged.FindString(message)
	switch {
	case strings.HasPrefix(message, "Status: "):
		return replyToReport(childKey.FindString(message))
	case tag == "":
		return "no tag"
	}
	for word, task := range tasks {
		switch text := word + " " + tag; {
		case strings.TrimSpace(message) == text:
			return strings.ReplaceAll(task.work, "#", tag)
		case strings.Contains(message, "\nTask:\n"+text+"\n"):
			return strings.ReplaceAll(task.announce, "#", tag)
		}
	}
	return replyToSend(message, tag)
}

// replyToSend returns the replies to the messages of a send: "r1" to "m", "r2" to "r1" and
// so on. The reply to the announce request, which contains several of them, is "a".
func replyToSend(message, tag string) string {
	has := func(word string) bool { return strings.Contains(message, word+" "+tag) }
	if has("m") && has("r1") {
		return "a " + tag
	}
	for _, turn := range []struct{ message, reply string }{{"m", "r1"}, {"r1", "r2"}, {"r2", "r3"}, {"r3", "r4"}} {
		if has(turn.message) {
			return turn.reply + " " + tag
		}
	}
	return "no script"
}
