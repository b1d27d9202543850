package main

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/host/internal/e2e"
)

func TestReply(t *testing.T) {
	for message, want := range map[string]string{
		"m #x#":                         "r1 #x#",
		"r1 #x#":                        "r2 #x#",
		"r2 #c0-1#":                     "r3 #c0-1#",
		"r3 #x#":                        "r4 #x#",
		"the request m #x# got: r1 #x#": "a #x#",
		"do #x#":                        "done #x#",
		"skip #x#":                      announceSkip,
		"fail #x#":                      e2e.ModelFails,
		"Your task\n\nTask:\nskip-announce #x#\n\nResult:\ndone #x#":        announceSkip,
		"Your task\n\nTask:\nskip #x#\n\nResult:\n-":                        strings.ReplaceAll(reportText, "#", "#x#"),
		"Status: success\nResult: r #x#\n\nsession agent:ops:subagent:1a-2": replyToReport("agent:ops:subagent:1a-2"),
		"m":      "no tag",
		"r9 #x#": "no script",
	} {
		if got := reply(message); got != want {
			t.Errorf("to %q: %q, want %q", message, got, want)
		}
	}
}

// A process halts once, at the point of its halt.
func TestPointNumbers(t *testing.T) {
	passes := []string{pointCommit, pointCommit, pointAgent, pointCommit, pointAgent}
	for at, want := range map[string]int{"": -1, "1": 0, "4": 3, pointAgent: 2, pointPost: -1, "9": -1} {
		p := &points{halt: halt{At: at}, trace: io.Discard}
		var here []int
		for i, what := range passes {
			if p.number(what) {
				here = append(here, i)
			}
		}
		if want < 0 && len(here) > 0 || want >= 0 && !slices.Equal(here, []int{want}) {
			t.Errorf("at %q: halted at %v, want %d", at, here, want)
		}
	}
}

func TestHalts(t *testing.T) {
	points := []string{pointCommit, pointAgent, pointPost}
	for _, test := range []struct {
		only string
		want string
	}{
		{"", "before point 1, after point 1, before point 2, after point 2, before point 3, after point 3"},
		{pointPost, "before point 3, after point 3"},
	} {
		s := &scenario{only: test.only}
		var got []string
		for _, h := range s.halts(points) {
			got = append(got, h.String())
		}
		if got := strings.Join(got, ", "); got != test.want {
			t.Errorf("%s, want %s", got, test.want)
		}
	}
}

func TestStateCheck(t *testing.T) {
	early := state{}
	claimed := state{claimed: true, running: 1}
	unrecorded := state{claimed: true, posted: true}
	recorded := state{claimed: true, posted: true, recorded: true}
	const drops, unaware = true, true
	for name, test := range map[string]struct {
		state                      state
		reposts, repeats, attempts int
		interrupted                int
		drops, unaware             bool
		want                       int
	}{
		"no post":                           {state: early},
		"repeated without a post":           {state: early, reposts: 1, drops: drops, want: 1},
		"repeated after the record":         {state: recorded, reposts: 1, drops: drops, want: 1},
		"repeated":                          {state: unrecorded, reposts: 1, repeats: 1},
		"repeated, dropped":                 {state: unrecorded, reposts: 1, drops: drops},
		"repeated, not dropped":             {state: unrecorded, reposts: 1, repeats: 1, drops: drops, want: 1},
		"not repeated":                      {state: unrecorded, want: 1},
		"repeated twice, unaware":           {state: unrecorded, reposts: 2, repeats: 2, unaware: unaware, want: 1},
		"second attempt":                    {state: claimed, attempts: 1},
		"no second attempt":                 {state: claimed, want: 1},
		"no attempt left":                   {state: claimed, interrupted: 1},
		"second attempt and interrupted":    {state: claimed, attempts: 1, interrupted: 1, want: 1},
		"attempt without an interruption":   {state: early, attempts: 1, want: 1},
		"repeated, not unaware":             {state: claimed, attempts: 1, reposts: 1, repeats: 1, want: 1},
		"repeated, unaware":                 {state: claimed, attempts: 1, reposts: 1, repeats: 1, unaware: unaware},
		"not repeated, unaware":             {state: claimed, attempts: 1, unaware: unaware},
		"repeated too often, unaware":       {state: claimed, attempts: 1, reposts: 2, repeats: 2, unaware: unaware, want: 1},
		"repeated without a claim, unaware": {state: early, reposts: 1, repeats: 1, unaware: unaware, want: 1},
	} {
		found := &e2e.Report{}
		found.Count(countReposts, test.reposts)
		found.Count(countRepeats, test.repeats)
		found.Count(countRetries, test.attempts)
		found.Count(countInterrupted, test.interrupted)
		if test.state.check(found, test.drops, test.unaware); len(found.Problems()) != test.want {
			t.Errorf("%s: %q, want %d problems", name, found.Problems(), test.want)
		}
	}
}
