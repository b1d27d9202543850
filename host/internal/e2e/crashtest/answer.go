package main

import (
	"regexp"
	"strings"
)

// A call is told from others by its tag, which every text of it carries.
var tag = regexp.MustCompile(`#[a-z0-9-]+#`)

// childKey is in every report.
var childKey = regexp.MustCompile(`agent:[a-z]+:subagent:[0-9a-f-]+`)

// heard is what a requester answers to the report of a child.
func heard(child string) string { return "heard of " + child }

// Answers that the model does not give: it fails, or never comes to an end. Only
// a model can do so, not the command.
const (
	broken  = "broken"
	endless = "endless"
)

// outOfOrder is how the model fails.
const outOfOrder = "the model is out of order"

// answer is what every agent here says to a message.
func answer(message string) string {
	t := tag.FindString(message)
	switch {
	case strings.HasPrefix(message, "Status: "):
		return heard(childKey.FindString(message))
	case t == "":
		return "no tag"
	}
	for _, answer := range []func(message, tag string) string{spawned, sent} {
		if say := answer(message, t); say != "" {
			return say
		}
	}
	return "lost"
}

// sent answers what follows from a send: the request "m" with "r1", that with "r2"
// and so on, and the request for an announcement, which holds several of them, with
// "a".
func sent(message, tag string) string {
	if strings.Contains(message, "m "+tag) && strings.Contains(message, "r1 "+tag) {
		return "a " + tag
	}
	for _, step := range []struct{ heard, say string }{{"m", "r1"}, {"r1", "r2"}, {"r2", "r3"}, {"r3", "r4"}} {
		if strings.Contains(message, step.heard+" "+tag) {
			return step.say + " " + tag
		}
	}
	return ""
}

// spawned answers a child's task, and the request for its announcement, which
// holds the task.
func spawned(message, tag string) string {
	for word, kind := range tasks {
		say := kind.work
		switch task := word + " " + tag; {
		case strings.TrimSpace(message) == task:
		case strings.Contains(message, "\nTask:\n"+task+"\n"):
			say = kind.announce
		default:
			continue
		}
		return strings.ReplaceAll(say, "#", tag)
	}
	return ""
}
