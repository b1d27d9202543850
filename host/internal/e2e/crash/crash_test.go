package main

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/host/internal/e2e"
)

func TestAnswer(t *testing.T) {
	for message, want := range map[string]string{
		"m #x#":                         "r1 #x#",
		"r1 #x#":                        "r2 #x#",
		"r2 #c0-1#":                     "r3 #c0-1#",
		"r3 #x#":                        "r4 #x#",
		"the request m #x# got: r1 #x#": "a #x#",
		"do #x#":                        "done #x#",
		"mute #x#":                      silence,
		"fail #x#":                      e2e.ModelFails,
		"Your task\n\nTask:\nhush #x#\n\nResult:\ndone #x#":                 silence,
		"Your task\n\nTask:\nmute #x#\n\nResult:\n-":                        strings.ReplaceAll(reportText, "#", "#x#"),
		"Status: success\nResult: r #x#\n\nsession agent:ops:subagent:1a-2": heard("agent:ops:subagent:1a-2"),
		"m":      "no tag",
		"r9 #x#": "no script",
	} {
		if got := answer(message); got != want {
			t.Errorf("to %q: %q, want %q", message, got, want)
		}
	}
}

// A process halts once, at the point that it was given.
func TestNumber(t *testing.T) {
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

func TestJudge(t *testing.T) {
	early := state{}
	claimed := state{claimed: true, running: 1}
	between := state{claimed: true, posted: true}
	recorded := state{claimed: true, posted: true, recorded: true}
	const drops, unaware = true, true
	for name, test := range map[string]struct {
		state                      state
		reposts, repeats, attempts int
		interrupted                int
		drops, unaware             bool
		want                       int
	}{
		"nothing":              {state: early},
		"again for nothing":    {state: early, reposts: 1, drops: drops, want: 1},
		"after the record":     {state: recorded, reposts: 1, drops: drops, want: 1},
		"between":              {state: between, reposts: 1, repeats: 1},
		"between, dropped":     {state: between, reposts: 1, drops: drops},
		"between, no drop":     {state: between, reposts: 1, repeats: 1, drops: drops, want: 1},
		"between, never":       {state: between, want: 1},
		"between, unaware":     {state: between, reposts: 2, repeats: 2, unaware: unaware, want: 1},
		"second attempt":       {state: claimed, attempts: 1},
		"no second attempt":    {state: claimed, want: 1},
		"none was left":        {state: claimed, interrupted: 1},
		"both":                 {state: claimed, attempts: 1, interrupted: 1, want: 1},
		"attempts for nothing": {state: early, attempts: 1, want: 1},
		"aware":                {state: claimed, attempts: 1, reposts: 1, repeats: 1, want: 1},
		"unaware":              {state: claimed, attempts: 1, reposts: 1, repeats: 1, unaware: unaware},
		"unaware, in time":     {state: claimed, attempts: 1, unaware: unaware},
		"unaware, too often":   {state: claimed, attempts: 1, reposts: 2, repeats: 2, unaware: unaware, want: 1},
		"unaware, unclaimed":   {state: early, reposts: 1, repeats: 1, unaware: unaware, want: 1},
	} {
		found := &e2e.Report{}
		found.Count(countReposts, test.reposts)
		found.Count(countRepeats, test.repeats)
		found.Count(countRetries, test.attempts)
		found.Count(countInterrupted, test.interrupted)
		if test.state.judge(found, test.drops, test.unaware); len(found.Problems()) != test.want {
			t.Errorf("%s: %q, want %d problems", name, found.Problems(), test.want)
		}
	}
}
