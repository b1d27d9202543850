package main

import (
	"regexp"
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/internal/e2e"
)

// tagged finds a call's tag, which every text of the call carries.
var tagged = regexp.MustCompile(`#[a-z0-9-]+#`)

// childKey is in every report.
var childKey = regexp.MustCompile(`agent:[a-z]+:subagent:[0-9a-f-]+`)

// heard is what a requester answers to the report of a child.
func heard(child string) string { return "heard of " + child }

// silence is the answer for which nothing is posted (S5.5).
const silence = "ANNOUNCE_SKIP"

// task is what a child's agent answers. In its answers # is the tag.
type task struct {
	work     string // to the task
	announce string // to the request for an announce
	seconds  int    // that the child's run may take; 0: any time
}

// What a child reports. Its words on status and statistics must be dropped.
const (
	resultText = "result #"
	notesText  = "notes #"
	reportText = "Status: killed\nResult: " + resultText + "\nNotes: " + notesText + "\nStats: runtime 9h"
)

// tasks are the kinds of tasks, by the word that a task begins with. A child that answers
// with silence and was interrupted is asked for an announce.
var tasks = map[string]task{
	"do":    {work: "done #", announce: reportText},
	"mute":  {work: silence, announce: reportText},
	"hush":  {work: "done #", announce: silence},
	"bare":  {work: "done #", announce: e2e.ModelFails},
	"fail":  {work: e2e.ModelFails, announce: reportText},
	"worse": {work: e2e.ModelFails, announce: e2e.ModelFails},
	"slow":  {work: e2e.ModelHangs, announce: reportText, seconds: 1},
}

// statusAfter is the status of a run that was not interrupted, by what its agent
// answers.
func statusAfter(answer string) string {
	switch answer {
	case e2e.ModelFails:
		return abi.RunFailed
	case e2e.ModelHangs:
		return abi.RunTimeout
	}
	return abi.RunDone
}

// answer is what every agent answers to a message. The model alone can fail or hang.
func answer(message string) string {
	tag := tagged.FindString(message)
	switch {
	case strings.HasPrefix(message, "Status: "):
		return heard(childKey.FindString(message))
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
	return answerToSend(message, tag)
}

// answerToSend answers what follows from a send: "m" with "r1", that with "r2" and so on,
// and the request for an announce, which contains several of them, with "a".
func answerToSend(message, tag string) string {
	has := func(word string) bool { return strings.Contains(message, word+" "+tag) }
	if has("m") && has("r1") {
		return "a " + tag
	}
	for _, turn := range []struct{ heard, say string }{{"m", "r1"}, {"r1", "r2"}, {"r2", "r3"}, {"r3", "r4"}} {
		if has(turn.heard) {
			return turn.say + " " + tag
		}
	}
	return "no script"
}
