package main

import (
	"regexp"
	"strings"
)

// An exchange is told from others by its tag, which every text in it carries.
var tag = regexp.MustCompile(`#[a-z0-9-]+#`)

// answer is what every agent here says to a message: to the request "m" with
// "r1", to that with "r2" and so on, and to the request for an announcement,
// which holds several of them, with "a".
func answer(message string) string {
	t := tag.FindString(message)
	if t == "" {
		return "no tag"
	}
	if strings.Contains(message, "m "+t) && strings.Contains(message, "r1 "+t) {
		return "a " + t
	}
	for _, step := range []struct{ heard, say string }{{"m", "r1"}, {"r1", "r2"}, {"r2", "r3"}, {"r3", "r4"}} {
		if strings.Contains(message, step.heard+" "+t) {
			return step.say + " " + t
		}
	}
	return "lost"
}
