package main

import "github.com/parley-wasm/parley/abi"

// silence is the answer that nothing is posted for (S5.5).
const silence = "ANNOUNCE_SKIP"

// kind is what a child does with its task. In its answers # stands for the tag.
type kind struct {
	work     string
	announce string
	seconds  int // that it may take; 0: as long as it likes
}

// What a child reports. Its words on status and statistics are to be dropped.
const (
	resultSaid = "result #"
	notesSaid  = "notes #"
	reportSaid = "Status: killed\nResult: " + resultSaid + "\nNotes: " + notesSaid + "\nStats: runtime 9h"
)

// tasks are the kinds of children, by the word that a task begins with. A child that
// wanted to be silent and was interrupted is asked for an announce.
var tasks = map[string]kind{
	"do":    {work: "done #", announce: reportSaid},
	"mute":  {work: silence, announce: reportSaid},
	"hush":  {work: "done #", announce: silence},
	"bare":  {work: "done #", announce: broken},
	"fail":  {work: broken, announce: reportSaid},
	"worse": {work: broken, announce: broken},
	"slow":  {work: endless, announce: reportSaid, seconds: 1},
}

// ends is how a run ends that nothing interrupts, by what its agent says.
func ends(say string) string {
	switch say {
	case broken:
		return abi.RunFailed
	case endless:
		return abi.RunTimeout
	}
	return abi.RunDone
}
